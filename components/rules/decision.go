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
	// Deny denies the request. It is the zero value, so an empty Decision denies: a policy that
	// forgets to fill one fails closed.
	Deny Effect = iota
	// NoOpinion leaves the request to the next authorizers.
	NoOpinion
	// Allow allows the request.
	Allow
)

var effectNames = [...]string{Deny: "deny", NoOpinion: "no-opinion", Allow: "allow"}

// String returns the name of the effect for logs and metrics. It returns "deny" for an unknown
// effect.
func (e Effect) String() string {
	if int(e) >= len(effectNames) {
		return effectNames[Deny]
	}
	return effectNames[e]
}

// Finding reports that a rule in audit mode would have denied the request.
type Finding struct {
	Rule ID
	// Message is the message that the caller would have received, without the rule ID. It is empty
	// where no report needs it.
	Message string
}

// Decision is what a policy decides about one request. All components use this type. The zero value
// denies.
type Decision struct {
	Effect Effect
	// Rule is the rule that decided. It is empty if no rule applies to the request.
	Rule ID
	// Message is the message for the caller, without the rule ID. See [Decision.Reason].
	Message string
	// Code is the HTTP status of a denial where no policy decided: by the kubelet API proxy, or by
	// the handler of a webhook. It is 0 elsewhere.
	Code int
	// Status is the status that the client of the API server receives for a denied write. Its
	// message ends in the rule ID. It is nil elsewhere.
	Status *metav1.Status
	// Findings are the rules in audit mode that would have denied the request, in the order of the
	// checks.
	Findings []Finding
	// Warnings are for the client of the API server. Only admission sets them.
	Warnings []string
	// Annotations are for the API server's audit event. Only admission sets them. Keys have no
	// prefix.
	Annotations map[string]string
}

// Reason returns the message, followed by the rule ID in brackets. Callers, logs and clients see
// this text.
func (d Decision) Reason() string {
	if d.Rule == "" {
		return d.Message
	}
	return Rule{ID: d.Rule}.Reason(d.Message)
}

// AsFinding returns the decision of an installation that does not enforce the rule: effect, and the
// denial as the last finding. No opinion keeps the rule and the message, as in an authorizer's reason.
// A decision that does not deny stays as it is.
func (d Decision) AsFinding(effect Effect) Decision {
	if d.Effect == Allow || d.Effect == NoOpinion {
		return d
	}
	message := d.Message
	if message == "" && d.Status != nil {
		message = d.Status.Message
	}
	found := Decision{
		Effect: effect, Findings: append(d.Findings, Finding{Rule: d.Rule, Message: message}),
		Warnings: d.Warnings, Annotations: d.Annotations,
	}
	if effect == NoOpinion {
		found.Rule, found.Message = d.Rule, d.Message
	}
	return found
}

// Parts returns the decision as an authorizer of k8s.io/apiserver returns it. The error is always
// nil.
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

// Allowed reports whether the decision allows the request.
func (d Decision) Allowed() bool { return d.Effect == Allow }

// Audited returns the rules of the findings, in their order.
func (d Decision) Audited() []ID {
	var ids []ID
	for _, finding := range d.Findings {
		ids = append(ids, finding.Rule)
	}
	return ids
}
