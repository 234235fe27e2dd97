// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseModes(t *testing.T) {
	table := []Rule{{ID: "XX-A-1", Optional: true}, {ID: "XX-A-2"}, {ID: "XX-B-1", Optional: true}}
	configured := []Rule{{ID: "XX-A-1", Optional: true}, {ID: "XX-C-1", Configured: true}}
	const optional = "you can set the mode of: XX-A-1, XX-B-1"
	for _, tc := range []struct {
		name     string
		table    []Rule
		all      Mode
		single   map[string]string
		want     map[ID]Mode
		problems []string
	}{
		{"no rule modes", table, Enforce, nil, map[ID]Mode{"XX-A-1": Enforce, "XX-B-1": Enforce}, nil},
		{"default mode off", table, Off, nil, map[ID]Mode{"XX-A-1": Off, "XX-B-1": Off}, nil},
		{"one rule mode", table, Audit, map[string]string{"XX-B-1": "off"},
			map[ID]Mode{"XX-A-1": Audit, "XX-B-1": Off}, nil},
		{"invalid mode", table, Enforce, map[string]string{"XX-A-1": "on"},
			map[ID]Mode{"XX-A-1": Enforce, "XX-B-1": Enforce},
			[]string{`XX-A-1: invalid mode "on": use off, audit or enforce`}},
		{"rule that is always enforced", table, Enforce, map[string]string{"XX-A-2": "off"},
			map[ID]Mode{"XX-A-1": Enforce, "XX-B-1": Enforce},
			[]string{"XX-A-2 is always enforced; " + optional}},
		{"several unknown rules", table, Enforce,
			map[string]string{"XX-Z-1": "off", "": "off", "xx-a-1": "off"},
			map[ID]Mode{"XX-A-1": Enforce, "XX-B-1": Enforce},
			[]string{`there is no rule ""; ` + optional, `there is no rule "XX-Z-1"; ` + optional,
				`there is no rule "xx-a-1"; ` + optional}},
		{"an audit of a configured rule", configured, Off, map[string]string{"XX-C-1": "audit"},
			map[ID]Mode{"XX-A-1": Off, "XX-C-1": Audit}, nil},
		{"a configured rule that is off", configured, Off, map[string]string{"XX-C-1": "off"},
			map[ID]Mode{"XX-A-1": Off, "XX-C-1": Enforce},
			[]string{"XX-C-1 cannot be off: use audit, or remove its field from the node policy"}},
		{"an invalid mode of a configured rule", configured, Off, map[string]string{"XX-C-1": "on"},
			map[ID]Mode{"XX-A-1": Off, "XX-C-1": Enforce}, []string{`XX-C-1: invalid mode "on": use off, audit or enforce`}},
		{"no optional rules", nil, Enforce, map[string]string{"XX-A-1": "off"}, map[ID]Mode{},
			[]string{`there is no rule "XX-A-1"; you can set the mode of: none`}},
	} {
		t.Run("an administrator who asks for "+tc.name, func(t *testing.T) {
			got, problems := ParseModes(tc.table, tc.all, tc.single)
			var texts []string
			for _, problem := range problems {
				texts = append(texts, problem.Error())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.problems, texts); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAuditedRulesAreEnforcedOnlyByName(t *testing.T) {
	table := []Rule{{ID: "XX-A-1", Optional: true}, {ID: "XX-B-1", Optional: true, Audited: true}}
	for _, tc := range []struct {
		name   string
		all    Mode
		single map[string]string
		want   map[ID]Mode
	}{
		{"all", Enforce, nil, map[ID]Mode{"XX-A-1": Enforce, "XX-B-1": Audit}},
		{"all, and this one by name", Enforce, map[string]string{"XX-B-1": "enforce"},
			map[ID]Mode{"XX-A-1": Enforce, "XX-B-1": Enforce}},
		{"none", Off, nil, map[ID]Mode{"XX-A-1": Off, "XX-B-1": Off}},
		{"no answer changed", Audit, nil, map[ID]Mode{"XX-A-1": Audit, "XX-B-1": Audit}},
	} {
		t.Run("an administrator who wants "+tc.name, func(t *testing.T) {
			got, problems := ParseModes(table, tc.all, tc.single)
			if diff := cmp.Diff(tc.want, got); diff != "" || len(problems) > 0 {
				t.Errorf("problems %v, modes (-want +got):\n%s", problems, diff)
			}
		})
	}
}

func TestFind(t *testing.T) {
	table := []Rule{{ID: "XX-A-1", Description: "one"}, {ID: "XX-A-2", Description: "two"}}
	if r, ok := Find(table, "XX-A-2"); !ok || r.Description != "two" {
		t.Errorf("found %+v, %v", r, ok)
	}
	if r, ok := Find(table, "XX-A-3"); ok || r != (Rule{}) {
		t.Errorf("found %+v, %v", r, ok)
	}
}
