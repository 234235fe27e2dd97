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
		{"a rule without an allowance is unproved", []types.SpecReport{deny},
			[]string{"NA-ONE-1 has no spec labelled want:allow"}},
		{"a rule without a refusal is unproved", []types.SpecReport{allow},
			[]string{"NA-ONE-1 has no spec labelled want:deny"}},
		{
			"a spec without a rule is found", []types.SpecReport{allow, deny, spec("is idle", "want:deny")},
			[]string{`"is idle" names no rule`},
		},
		{
			"a spec without an outcome is found", []types.SpecReport{allow, deny, spec("is vague", "rule:NA-ONE-1")},
			[]string{`"is vague" does not say what it wants`},
		},
		{
			"a spec of an unknown rule is found", []types.SpecReport{allow, deny, spec("has Off", Denies("NA-TWO-1")...)},
			[]string{`"has Off" names NA-TWO-1, which is not a rule`},
		},
		{
			"a spec decided by an unknown rule is found",
			[]types.SpecReport{allow, deny, spec("has Off", AllowsBy("NA-ONE-1", "NA-TWO-1")...)},
			[]string{`"has Off" names NA-TWO-1, which is not a rule`},
		},
		{
			"another authorizer may decide",
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

func TestUnprovedOptional(t *testing.T) {
	all := []rules.Rule{
		{ID: "NA-ONE-1"},
		{ID: "NA-TWO-1", Extension: true, Optional: true},
	}
	allow := spec("is allowed", AllowsBy("NA-TWO-1", "NA-ONE-1")...)
	deny := spec("is denied", Denies("NA-ONE-1")...)
	both := spec("depends", DeniesBeyond("NA-TWO-1", "NA-ONE-1")...)
	for _, tc := range []struct {
		name  string
		specs []types.SpecReport
		want  []string
	}{
		{"what is refused while a rule is in force is allowed by another while it is off",
			[]types.SpecReport{allow, deny, both}, nil},
		{
			"allowed only while the other rule is off: not proved in hardened",
			[]types.SpecReport{deny, both, spec("is left to RBAC", AllowsBy("NA-TWO-1", Behind)...)},
			[]string{"NA-ONE-1 has no spec labelled want:allow"},
		},
		{
			"a refusal by a rule that may be off is only half of it",
			[]types.SpecReport{allow, deny, both, spec("is bare", Denies("NA-TWO-1")...)},
			[]string{`"is bare" does not say which rule allows it while NA-TWO-1 is off`},
		},
		{
			"unless only hardened has it",
			[]types.SpecReport{allow, deny, both, spec("is hard", append(Denies("NA-TWO-1"), OnHardened)...)}, nil,
		},
		{
			"a rule that is always in force is never off",
			[]types.SpecReport{allow, deny, both, spec("has Off", DeniesBeyond("NA-ONE-1", "NA-TWO-1")...)},
			[]string{`"has Off" names the outcome without NA-ONE-1, but that rule is always in force`},
		},
		{
			"the rule of while it is off must be one",
			[]types.SpecReport{allow, deny, both, spec("has Off", DeniesBeyond("NA-TWO-1", "NA-SIX-1")...)},
			[]string{`"has Off" names NA-SIX-1, which is not a rule`},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Unproved(types.Report{SpecReports: tc.specs}, all)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("unproved (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInForce(t *testing.T) {
	upstreams := rules.Rule{ID: "NA-ONE-1"}
	extension := rules.Rule{ID: "NA-TWO-1", Extension: true}
	optional := rules.Rule{ID: "NA-SIX-1", Extension: true, Optional: true}
	audited := rules.Rule{ID: "NA-SIX-2", Extension: true, Optional: true, Audited: true}
	for _, tc := range []struct {
		profile Profile
		want    [4]bool
	}{
		{Hardened, [4]bool{true, true, true, false}},
		{Parity, [4]bool{true, true, false, false}},
		{InTree, [4]bool{true, false, false, false}},
	} {
		t.Run(string(tc.profile), func(t *testing.T) {
			got := [4]bool{InForce(upstreams, tc.profile), InForce(extension, tc.profile), InForce(optional, tc.profile),
				InForce(audited, tc.profile)}
			if got != tc.want {
				t.Errorf("upstream, extension, optional and audited rule: got %v, want %v", got, tc.want)
			}
		})
	}
}

func spec(text string, labels ...string) types.SpecReport {
	return types.SpecReport{LeafNodeType: types.NodeTypeIt, LeafNodeText: text, LeafNodeLabels: labels}
}
