// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// rule is a rule with the reason that its allowances carry, made once so that
// to allow does not allocate.
type rule struct {
	rules.Rule
	bare string
}

func promise(r rules.Rule) *rule {
	return &rule{Rule: r, bare: r.Reason("")}
}

// effect is what a rule makes of a request.
type effect uint8

const (
	// refused requests are denied in Strict mode and left to the authorizers
	// behind in Compat mode. It is the zero value: a forgotten verdict refuses.
	refused effect = iota
	allowed
	// passed requests are left to the authorizers behind in both modes.
	passed
)

// verdict is the answer to one request: what happens, by which rule, and what
// the caller is told.
type verdict struct {
	effect effect
	rule   *rule
	text   string
}

func allow(r *rule) verdict               { return verdict{effect: allowed, rule: r} }
func refuse(r *rule, text string) verdict { return verdict{effect: refused, rule: r, text: text} }
func pass(r *rule, text string) verdict   { return verdict{effect: passed, rule: r, text: text} }

// decision is what the API server is told in the given mode.
func (v verdict) decision(mode Mode) authorizer.Decision {
	switch {
	case v.effect == allowed:
		return authorizer.DecisionAllow
	case v.effect == refused && mode == Strict:
		return authorizer.DecisionDeny
	default:
		return authorizer.DecisionNoOpinion
	}
}

// reason is what the caller is told. It is the same in both modes.
func (v verdict) reason() string {
	if v.effect == allowed {
		return v.rule.bare
	}
	return v.rule.Reason(v.text)
}
