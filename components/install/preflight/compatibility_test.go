// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// What would stop working fails the check, unless the installation only audits or the user accepts
// it.
func TestCompatibilityIsOnlyAWarningInAudit(t *testing.T) {
	for _, tt := range []struct {
		name  string
		audit bool
		names []string
		level Level
		says  string
	}{
		{"enforced", false, nil, Fail, "NR-PODIP-1 would deny"},
		{"audit only", true, nil, Warn, "before mode enforce: "},
		{"accepted", false, []string{"IPs-of-pods"}, Warn, "NR-PODIP-1 would deny"},
		{"another check accepted", false, []string{"clients-with-old-tokens"}, Fail, "NR-PODIP-1 would deny"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := Input{
				Profile: "hardened", Modes: noderestriction.Modes(rules.Enforce), AuditOnly: tt.audit, Accepted: tt.names,
				Client: fake.NewClientset(workerNode("n1", podCIDRs("10.1.0.0/24")), runningPod("web", "10.9.0.7")),
			}
			findings, err := compatibilityFindings(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(findings, func(f Finding) bool { return f.Check == podIPCheck })
			if at < 0 || findings[at].Level != tt.level || !strings.Contains(findings[at].Detail, tt.says) {
				t.Errorf("got %+v, want %s with %q", findings, tt.level, tt.says)
			}
		})
	}
	for _, name := range Acceptable() {
		if strings.Contains(name, " ") {
			t.Errorf("%q cannot be the value of a flag", name)
		}
	}
}
