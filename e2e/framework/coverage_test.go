// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestUnproved(t *testing.T) {
	one := []rules.Rule{{ID: "NA-ONE-1"}}
	allow := spec("is allowed", Allows("NA-ONE-1")...)
	deny := spec("is denied", Denies("NA-ONE-1")...)
	for _, tc := range []struct {
		name  string
		specs []types.SpecReport
		want  []string
	}{
		{"both outcomes prove a rule", []types.SpecReport{allow, deny}, nil},
		{"a rule without an allowance is unproved", []types.SpecReport{deny}, []string{"NA-ONE-1 has no spec labelled want:allow"}},
		{"a rule without a refusal is unproved", []types.SpecReport{allow}, []string{"NA-ONE-1 has no spec labelled want:deny"}},
		{
			"a spec without a rule is found", []types.SpecReport{allow, deny, spec("is idle", "want:deny")},
			[]string{`"is idle" names no rule`},
		},
		{
			"a spec without an outcome is found", []types.SpecReport{allow, deny, spec("is vague", "rule:NA-ONE-1")},
			[]string{`"is vague" does not say what it wants`},
		},
		{
			"a spec of an unknown rule is found", []types.SpecReport{allow, deny, spec("is odd", Denies("NA-TWO-1")...)},
			[]string{`"is odd" names NA-TWO-1, which is no rule`},
		},
		{
			"a spec decided by an unknown rule is found", []types.SpecReport{allow, deny, spec("is odd", AllowsBy("NA-ONE-1", "NA-TWO-1")...)},
			[]string{`"is odd" names NA-TWO-1, which is no rule`},
		},
		{
			"an authorizer behind ours is no rule and may decide",
			[]types.SpecReport{deny, spec("is passed", AllowsBy("NA-ONE-1", Behind)...)}, nil,
		},
		{
			"nodes that are not specs need no labels",
			[]types.SpecReport{allow, deny, {LeafNodeType: types.NodeTypeBeforeSuite}}, nil,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Unproved(types.Report{SpecReports: tc.specs}, one)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("unproved (-want +got):\n%s", diff)
			}
		})
	}
}

func spec(text string, labels ...string) types.SpecReport {
	return types.SpecReport{LeafNodeType: types.NodeTypeIt, LeafNodeText: text, LeafNodeLabels: labels}
}
