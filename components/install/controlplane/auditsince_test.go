// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"maps"
	"testing"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
)

func TestAuditSettingsKeepTheTimeOfTheirFirstInstallation(t *testing.T) {
	first, later := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), time.Date(2026, 3, 5, 0, 0, 0, 1, time.UTC)
	audits := Extensions{AuditOnly: true, Mode: "audit",
		RuleModes: map[string]string{"NA-CSR-1": "audit", "NA-POD-6": "off"}}
	const only, all, rule = "--mode=audit", "--beyond-upstream=audit", "--rule-mode=NA-CSR-1=audit"
	since := auditSince(nil, audits, first)
	if want := map[string]time.Time{only: first, all: first, rule: first}; !maps.Equal(since, want) {
		t.Fatalf("%v, want %v", since, want)
	}
	second := auditSince(&Record{AuditSince: map[string]time.Time{only: first}}, audits, later)
	if !second[only].Equal(first) || !second[rule].Equal(later.Truncate(time.Second)) {
		t.Errorf("the mode is kept and the rule is new, but got %v", second)
	}
	audits.AuditOnly = false
	if ended := auditSince(&Record{AuditSince: second}, audits, later); !ended[only].IsZero() {
		t.Errorf("the mode has ended, but got %v", ended)
	}
	if none := auditSince(&Record{AuditSince: second}, Extensions{}, later); none != nil {
		t.Errorf("nothing audits, but got %v", none)
	}
}

func TestInstallationRecordsTheAudit(t *testing.T) {
	onHost(t, "in the entry of the host, until it enforces", func(t *testing.T, h *testHost) {
		audits := auditing()
		audits.Extensions.AuditFor = 24 * time.Hour
		for _, o := range []Options{audits, said(Extensions{AuditFor: 24 * time.Hour})} {
			must(t, h.withKubelets(nil).Install(t.Context(), o))
			for node, text := range h.entries() {
				known, _ := hosts.Parse(map[string]string{node: text})
				_, recorded := known[node].AuditSince["--mode=audit"]
				if planned := known[node].AuditFor != nil; recorded != o.Extensions.AuditOnly || planned != recorded {
					t.Errorf("audit only %v: the entry is %s", o.Extensions.AuditOnly, text)
				}
			}
		}
	})
}

func TestEntryHasThePlanOfAnAudit(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var h hosts.Host
	setAudit(&h, Record{AuditSince: map[string]time.Time{"--mode=audit": at}, Extensions: Extensions{AuditFor: time.Hour}})
	if got := h.AuditSince["--mode=audit"]; !got.Time.Equal(at) || h.AuditFor == nil || h.AuditFor.Duration != time.Hour {
		t.Errorf("%v for %v", h.AuditSince, h.AuditFor)
	}
	h = hosts.Host{}
	setAudit(&h, Record{Extensions: Extensions{AuditFor: time.Hour}})
	if h.AuditSince != nil || h.AuditFor != nil {
		t.Errorf("nothing audits, but the entry has %v for %v", h.AuditSince, h.AuditFor)
	}
}
