// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

func TestZeroDecisionDenies(t *testing.T) {
	var forgotten Decision
	if forgotten.Allowed() || forgotten.Effect != Deny || forgotten.Effect.String() != "deny" {
		t.Errorf("the zero decision: %v", forgotten.Effect)
	}
}

func TestEffectNames(t *testing.T) {
	for effect, want := range map[Effect]string{Deny: "deny", NoOpinion: "no-opinion", Allow: "allow", Allow + 1: "deny"} {
		if got := effect.String(); got != want {
			t.Errorf("effect %d is called %q, want %q", effect, got, want)
		}
		if got := (Decision{Effect: effect}).Allowed(); got != (want == "allow") {
			t.Errorf("effect %d: allowed is %v", effect, got)
		}
	}
}

func TestReasonOfDecision(t *testing.T) {
	want := map[Effect]authorizer.Decision{
		Deny: authorizer.DecisionDeny, NoOpinion: authorizer.DecisionNoOpinion, Allow: authorizer.DecisionAllow,
	}
	for _, tc := range []struct {
		name string
		d    Decision
		want string
	}{
		{"message and rule", Decision{Rule: "NA-LEASE-3", Message: "own lease only"}, "own lease only [NA-LEASE-3]"},
		{"rule without a message", Decision{Effect: Allow, Rule: "NA-LEASE-3"}, "[NA-LEASE-3]"},
		{"message without a rule", Decision{Message: "internal error"}, "internal error"},
		{"neither", Decision{Effect: NoOpinion}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.d.Reason(); got != tc.want {
				t.Errorf("reason %q, want %q", got, tc.want)
			}
			if decision, reason, err := tc.d.Parts(); decision != want[tc.d.Effect] || reason != tc.want || err != nil {
				t.Errorf("as an authorizer: %v, %q, %v", decision, reason, err)
			}
		})
	}
}

func TestAsFinding(t *testing.T) {
	denied := Decision{Rule: "NA-1", Message: "no", Code: 429, Findings: []Finding{{Rule: "NA-0"}}}
	found := []Finding{{Rule: "NA-0"}, {Rule: "NA-1", Message: "no"}}
	for _, tt := range []struct {
		name   string
		d      Decision
		effect Effect
		want   Decision
	}{
		{"an authorizer keeps the reason", denied, NoOpinion,
			Decision{Effect: NoOpinion, Rule: "NA-1", Message: "no", Findings: found}},
		{"admission allows without a rule", denied, Allow, Decision{Effect: Allow, Findings: found}},
		{"a status gives the message", Decision{Rule: "NR-1", Status: &metav1.Status{Message: "m"}}, Allow,
			Decision{Effect: Allow, Findings: []Finding{{Rule: "NR-1", Message: "m"}}}},
		{"allowed: unchanged", Decision{Effect: Allow, Rule: "NA-1"}, NoOpinion, Decision{Effect: Allow, Rule: "NA-1"}},
		{"no opinion: unchanged", Decision{Effect: NoOpinion, Rule: "NA-1"}, Allow,
			Decision{Effect: NoOpinion, Rule: "NA-1"}},
	} {
		if diff := cmp.Diff(tt.want, tt.d.AsFinding(tt.effect)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
	}
}
