// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package rulebook

import (
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestMatch(t *testing.T) {
	for _, row := range []struct {
		pattern string
		first   rules.ID
		more    bool
	}{
		{"NR-LABEL-1", "NR-LABEL-1", false},
		{"nr-label-1", "NR-LABEL-1", false},
		{"NR-LABEL-*", "NR-LABEL-1", true},
		{"NR-LABEL", "NR-LABEL-1", true},
		{"ka", "KA-PATH-1", true},
		{"NR-LABEL-9", "", false},
		{"", "", false},
		{"[", "", false},
		{"*-NOTHING", "", false},
	} {
		got, err := Match(row.pattern)
		if (err == nil) != (row.first != "") {
			t.Errorf("%q: %v", row.pattern, err)
			continue
		}
		if err == nil && (got[0].ID != row.first || (len(got) > 1) != row.more) {
			t.Errorf("%q matches %d rules, the first is %s", row.pattern, len(got), got[0].ID)
		}
	}
}

// TestEveryRuleHasAnException: there is something to do about every rule, also if it is not to be
// changed.
func TestEveryRuleHasAnException(t *testing.T) {
	for _, r := range All() {
		s := Exception(r.ID)
		if len(s.Fields) == 0 && s.Remedy == "" {
			t.Errorf("%s has none", r.ID)
		}
		if strings.Contains(s.Remedy, "does not know the rule") {
			t.Errorf("%s is not known to auditreport", r.ID)
		}
	}
	for id, want := range map[rules.ID]string{
		"NR-LABEL-1":    `nodePolicy: {allowedLabels: ["KEY"]}`,
		"NR-NODESPEC-2": `rules: {modes: {NR-NODESPEC-2: audit}}`,
	} {
		if s := Exception(id); len(s.Fields) != 1 || s.Fields[0].String() != want {
			t.Errorf("%s: %v, want %s", id, s.Fields, want)
		}
	}
}
