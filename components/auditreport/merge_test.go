// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package auditreport

import (
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/apis/installation"
)

const policyHeader = "  apiVersion: noderestriction.admission.k8s.io/v1\n  kind: Configuration\n"

func TestMerge(t *testing.T) {
	labels := Field{Path: "nodePolicy.allowedLabels", Add: []string{"a", "b"}, narrows: true}
	mirror := Field{Path: "nodePolicy.mirrorPods.allowedAnnotations", Add: []string{"a"}}
	denied := Field{Path: "nodePolicy.mirrorPods.deniedLabelKeys", Remove: []string{"k8s-app"}}
	withPattern := "nodePolicy:\n" + policyHeader + "  mirrorPods:\n    mode: enforce\n" +
		"    deniedLabelKeys: [k8s-app, \"example.com/*\"]\n"
	selected := Field{Path: denied.Path, Remove: []string{"example.com/selected-by-a", "k8s-app"}}
	mode := Field{Path: "rules.modes.NR-CSR-2", Value: "audit"}
	tokens := Field{Path: "serviceAccountTokens.extendExpiration", Value: "true"}
	for _, tc := range []struct {
		name, base string
		field      Field
		want, skip string
	}{
		{"list of the profile", "", labels, "  allowedLabels:\n    - \"topology.*\"\n    - a # X\n    - b # X\n", ""},
		{"list of the file", "nodePolicy:\n" + policyHeader + "  allowedLabels: [c, a]\n", labels,
			"  allowedLabels:\n    - c\n    - a\n    - b # X\n", ""},
		{"absent list that allows more", "nodePolicy:\n" + policyHeader, labels, "", "nodePolicy has no allowedLabels"},
		{"parity", "profile: parity\n", labels, "", "parity has no nodePolicy by default"},
		{"no mirrorPods", "nodePolicy:\n" + policyHeader, mirror, "", "nodePolicy has no mirrorPods"},
		{"absent list that allows less", "nodePolicy:\n" + policyHeader + "  mirrorPods:\n    mode: enforce\n", mirror,
			"    allowedAnnotations:\n      - a # X\n", ""},
		{"last entry of a list", "", denied, "    deniedLabelKeys: []\n", ""},
		{"default of an absent list", "nodePolicy:\n" + policyHeader + "  mirrorPods:\n    mode: enforce\n", denied,
			"    deniedLabelKeys: []\n", ""},
		{"entry beside a pattern for other keys", withPattern, denied, "deniedLabelKeys:\n      - \"example.com/*\"\n", ""},
		{"pattern over a key of the list", withPattern, selected, "deniedLabelKeys: [k8s-app, \"example.com/*\"]",
			"a pattern covers example.com/selected-by-a: replace example.com/* in " + denied.Path + ". Then X"},
		{"mode", "rules:\n  mode: enforce\n", mode, "  modes:\n    NR-CSR-2: audit\n", ""},
		{"mode enforce of the rule", "rules: {modes: {NR-CSR-2: enforce}}\n", mode, "NR-CSR-2: audit", ""},
		{"mode off stays", "rules:\n  modes:\n    NR-CSR-2: \"off\"\n", mode, "    NR-CSR-2: \"off\"\n", ""},
		{"tokens", "", tokens, "serviceAccountTokens:\n  extendExpiration: true\n", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			base, err := installation.Parse([]byte("apiVersion: bulkhead.dev/v1alpha1\nkind: Installation\n" + tc.base))
			if err != nil {
				t.Fatal(err)
			}
			before, err := base.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			c, skipped, err := Merge(base, hardenedPolicy(t), []Entry{{Rule: "X", Setting: Setting{
				Fields: []Field{tc.field}, Then: "Then X"}}})
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := installation.Parse(got); err != nil || !strings.Contains(string(got), tc.want) {
				t.Errorf("error %v, no %q in:\n%s", err, tc.want, got)
			}
			if skip := strings.Join(skipped, ""); (skip != "") != (tc.skip != "") || !strings.Contains(skip, tc.skip) {
				t.Errorf("skipped %q, want %q", skip, tc.skip)
			}
			if after, err := base.Marshal(); err != nil || string(after) != string(before) {
				t.Errorf("error %v; the base has changed:\n%s", err, after)
			}
		})
	}
}

// TestMergeStopsAnAuditedRuleThatTheBaseEnforces: without the setting, the rule denies the request.
func TestMergeStopsAnAuditedRuleThatTheBaseEnforces(t *testing.T) {
	base := defaults()
	base.Rules.Modes = map[string]string{"NA-SECRET-3": "enforce", "NA-CM-3": "enforce"}
	var r Report
	r.Add(Finding{Rule: "NA-SECRET-3", User: "system:node:worker-1", Verb: "list", Resource: "secrets"})
	c, skipped, err := Merge(base, hardenedPolicy(t), r.Entries())
	if err != nil || len(skipped) > 0 {
		t.Fatalf("error %v, skipped %v", err, skipped)
	}
	if c.Rules.Modes["NA-SECRET-3"] != "audit" || c.Rules.Modes["NA-CM-3"] != "enforce" {
		t.Errorf("modes %v", c.Rules.Modes)
	}
}
