// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/rulebook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
	"github.com/bulkhead-k8s/bulkhead/components/why"
)

func TestSomeSpecs(t *testing.T) {
	specs := func(suite, want string, number int) (all []rulebook.Spec) {
		for range number {
			all = append(all, rulebook.Spec{Suite: suite, Want: want})
		}
		return all
	}
	for _, row := range []struct {
		name string
		all  [][]rulebook.Spec
		want string
	}{
		{"few: all, in their order", [][]rulebook.Spec{specs("failure", "allow", 2), specs("nodeauthorizer", "deny", 3)},
			"failure/allow failure/allow nodeauthorizer/deny nodeauthorizer/deny nodeauthorizer/deny"},
		{"many: of both outcomes", [][]rulebook.Spec{specs("nodeauthorizer", "allow", 9), specs("nodeauthorizer", "deny", 9)},
			"nodeauthorizer/deny nodeauthorizer/deny nodeauthorizer/deny nodeauthorizer/allow nodeauthorizer/allow"},
		{"suite of the component first", [][]rulebook.Spec{specs("failure", "deny", 9), specs("nodeauthorizer", "deny", 2),
			specs("nodeauthorizer", "allow", 9)},
			"nodeauthorizer/deny nodeauthorizer/deny failure/deny nodeauthorizer/allow nodeauthorizer/allow"},
		{"one allowed", [][]rulebook.Spec{specs("failure", "deny", 9), specs("failure", "allow", 1)},
			"failure/deny failure/deny failure/deny failure/deny failure/allow"},
		{"one denied", [][]rulebook.Spec{specs("failure", "deny", 1), specs("failure", "allow", 9)},
			"failure/deny failure/allow failure/allow failure/allow failure/allow"},
	} {
		full := why.FullRule{Rule: why.Rule{ID: "NA-SECRET-1"}}
		for _, some := range row.all {
			full.Specs = append(full.Specs, some...)
		}
		var got []string
		for _, s := range someSpecs(full) {
			got = append(got, s.Suite+"/"+s.Want)
		}
		if strings.Join(got, " ") != row.want {
			t.Errorf("%s: got %v, want %s", row.name, got, row.want)
		}
	}
}

// TestSpecsOfOneRule: the text has some specs of a rule, YAML and JSON have all.
func TestSpecsOfOneRule(t *testing.T) {
	rule, _ := rulebook.Find("NA-SECRET-1")
	all := len(rulebook.Specs(rule.ID))
	for format, want := range map[string]int{"table": shownSpecs, "yaml": all, "json": all} {
		var out strings.Builder
		if err := printRules(&out, format, []rules.Rule{rule}, true, nil); err != nil {
			t.Fatal(err)
		}
		got := strings.Count(out.String(), ", deny: ") + strings.Count(out.String(), ", allow: ") +
			strings.Count(out.String(), "suite: ") + strings.Count(out.String(), `"suite": `)
		if got != want {
			t.Errorf("%s: %d specs, want %d\n%.2000s", format, got, want, out.String())
		}
	}
}
