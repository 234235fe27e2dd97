// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// DefaultAuditFor is how long a setting that only audits is to last, if the user has not set it.
const DefaultAuditFor = 7 * 24 * time.Hour

// auditing returns the flags of the settings that only audit, in a fixed order.
func (b Extensions) auditing() []string {
	audit := rules.Audit.String()
	var flags []string
	if b.AuditOnly {
		flags = append(flags, "--mode="+audit)
	}
	if b.Mode == audit {
		flags = append(flags, "--beyond-upstream="+audit)
	}
	for _, id := range slices.Sorted(maps.Keys(b.RuleModes)) {
		if b.RuleModes[id] == audit {
			flags = append(flags, "--rule-mode="+id+"="+audit)
		}
	}
	return flags
}

// auditSince returns when each of these settings was installed first. A setting that was there before
// keeps its time, so that a second run changes nothing. A record of an older version has no times.
func auditSince(before *Record, b Extensions, now time.Time) map[string]time.Time {
	since := map[string]time.Time{}
	for _, flag := range b.auditing() {
		since[flag] = now.UTC().Truncate(time.Second)
		if before == nil {
			continue
		}
		if at, recorded := before.AuditSince[flag]; recorded {
			since[flag] = at
		}
	}
	if len(since) == 0 {
		return nil
	}
	return since
}

// setAudit copies the times to the entry of the host, where `bulkhead doctor` reads them.
func setAudit(h *hosts.Host, r Record) {
	for flag, at := range r.AuditSince {
		if h.AuditSince == nil {
			h.AuditSince = map[string]metav1.Time{}
		}
		h.AuditSince[flag] = metav1.NewTime(at)
	}
	if r.Extensions.AuditFor > 0 && len(r.AuditSince) > 0 {
		h.AuditFor = &metav1.Duration{Duration: r.Extensions.AuditFor}
	}
}
