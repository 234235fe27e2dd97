// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import "k8s.io/apiserver/pkg/authorization/authorizer"

// verdict is the answer to one request. The zero value denies.
type verdict struct {
	// passed requests are left to the authorizers behind; others are denied.
	passed bool
	rule   *rule
	text   string
}

func pass(r *rule) verdict                { return verdict{passed: true, rule: r} }
func refuse(r *rule, text string) verdict { return verdict{rule: r, text: text} }

func (v verdict) decision() authorizer.Decision {
	if v.passed {
		return authorizer.DecisionNoOpinion
	}
	return authorizer.DecisionDeny
}

// reason ends in the ID of the rule. Of what passes it is the ID alone.
func (v verdict) reason() string {
	if v.text == "" {
		return v.rule.bare
	}
	return v.text + " " + v.rule.bare
}
