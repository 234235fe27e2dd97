// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net/http"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// record has a line written, and returns true once it was. It waits for up to a second;
// after somebody has waited in vain, others do not wait until a line was written again. A
// line that was late may be written all the same.
func (a *Audit) record(line *Line) bool {
	if a.out == nil || a.stuck.Load() {
		return false
	}
	written := make(chan error, 1)
	timer := time.NewTimer(logPatience)
	defer timer.Stop()
	select {
	case a.waiting[ofPassed] <- turn{Line: line.kept(), number: a.turns.Add(1), written: written}:
	case <-timer.C:
		a.stuck.Store(true)
		return false
	}
	a.hurryNow()
	select {
	case err := <-written:
		return err == nil
	case <-timer.C:
		a.stuck.Store(true)
		return false
	}
}

// record is rule KA-AUDIT-1: a request that is allowed has its line before anything of it
// goes on.
func (h *Handler) record(x *exchange) *reply {
	if h.recording == rules.Off {
		return nil
	}
	x.line.Stage = begun
	x.update()
	x.recorded = h.config.Audit.record(&x.line)
	x.line.Stage = whole
	switch {
	case x.recorded:
		return nil
	case h.recording == rules.Audit:
		x.found(kubeletauth.RuleAuditLog)
		return nil
	}
	return deny(http.StatusServiceUnavailable, kubeletauth.RuleAuditLog,
		"Service unavailable: the audit log cannot be written")
}
