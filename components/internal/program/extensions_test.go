// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"testing"

	"github.com/spf13/pflag"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestAuditOnlyEnforcesOnlyRevocations(t *testing.T) {
	for _, tt := range []struct {
		args     []string
		rule     rules.ID
		enforced bool
	}{
		{nil, "NR-LABEL-1", true},
		{[]string{"--audit-only"}, "NR-LABEL-1", false},
		{[]string{"--audit-only", "--beyond-upstream=enforce"}, "NA-LIMIT", false},
		{[]string{"--audit-only"}, "", false},
		{[]string{"--audit-only"}, "NA-REVOKE-1", true},
		{[]string{"--audit-only"}, "NS-REVOKE-1", true},
	} {
		e := DefaultExtensions()
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		e.Add(fs, "", "")
		if err := fs.Parse(tt.args); err != nil {
			t.Fatal(err)
		}
		notEnforced := e.NotEnforced()
		if got := notEnforced == nil || !notEnforced(tt.rule); got != tt.enforced {
			t.Errorf("%v: rule %q enforced: %v, want %v", tt.args, tt.rule, got, tt.enforced)
		}
	}
}
