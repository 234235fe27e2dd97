// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Effect is what a decision does with a request.
type Effect uint8

const (
	// Deny refuses. It is the zero value, so that a Decision that a policy forgot to fill refuses.
	Deny Effect = iota
	// NoOpinion leaves the request to the authorizers behind.
	NoOpinion
	// Allow lets the request pass.
	Allow
)

var effectNames = [...]string{Deny: "deny", NoOpinion: "no-opinion", Allow: "allow"}

// String is the effect as logs and metrics name it. An unknown effect is a denial.
func (e Effect) String() string {
	if int(e) >= len(effectNames) {
		return effectNames[Deny]
	}
	return effectNames[e]
}

// Finding says that a rule in audit mode would have denied the request.
type Finding struct {
	Rule ID
	// Message is what the caller would have been told, without the rule; empty if nothing needs it.
	Message string
}

// Decision is what a policy decides about one request: the only such type of all
// components. The zero value denies.
type Decision struct {
	Effect Effect
	// Rule is the rule that decided. It is empty if no rule applies to the request.
	Rule ID
	// Message is what the caller is told, without the rule. See [Decision.Reason].
	Message string
	// Code is the HTTP status of a denial where the caller talks to Bulkhead itself: at the
	// kubelet's port. It is 0 elsewhere.
	Code int
	// Status is what the client of the API server is told of a denied write, with the rule at
	// the end of its message. It is nil elsewhere.
	Status *metav1.Status
	// Findings are the rules in audit mode that would have denied the request, in the order
	// in which they were checked.
	Findings []Finding
	// Warnings are for the client of the API server. Only admission has them.
	Warnings []string
	// Annotations are for the API server's audit event. Only admission has them. Keys have
	// no prefix.
	Annotations map[string]string
}

// Reason is the message that ends in the rule, as callers, logs and clients read it.
func (d Decision) Reason() string {
	if d.Rule == "" {
		return d.Message
	}
	return Rule{ID: d.Rule}.Reason(d.Message)
}

// Parts are the decision as an authorizer of k8s.io/apiserver returns it. The error is
// always nil.
func (d Decision) Parts() (authorizer.Decision, string, error) {
	switch d.Effect {
	case Allow:
		return authorizer.DecisionAllow, d.Reason(), nil
	case NoOpinion:
		return authorizer.DecisionNoOpinion, d.Reason(), nil
	default:
		return authorizer.DecisionDeny, d.Reason(), nil
	}
}

// Allowed reports whether the request may pass.
func (d Decision) Allowed() bool { return d.Effect == Allow }

// Audited are the rules of the findings, in their order.
func (d Decision) Audited() []ID {
	var ids []ID
	for _, finding := range d.Findings {
		ids = append(ids, finding.Rule)
	}
	return ids
}
