// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"testing"

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
