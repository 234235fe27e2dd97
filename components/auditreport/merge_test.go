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
		{"mode", "rules:\n  mode: enforce\n", mode, "  modes:\n    NR-CSR-2: audit\n", ""},
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
			c, skipped, err := Merge(base, hardenedPolicy(t), []Entry{{Rule: "X", Setting: Setting{Fields: []Field{tc.field}}}})
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
