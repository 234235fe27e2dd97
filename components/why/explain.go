// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// ErrNoDecision is returned for a text that shows no decision of a component that why knows.
var ErrNoDecision = errors.New(
	"cannot find a decision in this text: it is not an error of an authorizer, of admission or of a kubelet. " +
		"Give the whole message, a line of the audit log, or USER VERB RESOURCE [NAME]")

// Explain explains what a text says, without a cluster.
func Explain(d Denial) (*Answer, error) {
	a, err := explain(d)
	if err != nil {
		return nil, err
	}
	for _, text := range d.Notes {
		a.note(text)
	}
	a.makePrintable()
	return a, nil
}

func explain(d Denial) (*Answer, error) {
	a := &Answer{Outcome: Denied, Step: Authorization, Reason: webhook.Printable(d.Message, maxText)}
	if d.Request != nil {
		a.Request = d.Request.String()
	}
	for _, finding := range d.Findings {
		if r, ok := describe(finding.Rule); ok {
			a.Findings = append(a.Findings, r)
		}
	}
	switch {
	case d.Allowed:
		a.Outcome, a.Reason = Allowed, webhook.Printable(d.Reason, maxText)
		by := allowedBy(d.Request, d.Reason)
		a.By = by.by
		a.addRules(by.rules)
		return a, nil
	case d.Request != nil && !d.Authorized:
		a.unauthorized(d.Request, deniedBy(d.Request, d.Reason, false), d.Reason)
		return a, nil
	case d.Request == nil && ofKubelet.MatchString(d.Message):
		a.kubelet(d.Message)
		return a, nil
	}
	return a.admission(d.Request, d.Message)
}

const maxText = 2 << 10

// unauthorized explains a denial by authorizers.
func (a *Answer) unauthorized(r *Request, by decider, reason string) {
	a.By = by.by
	a.addRules(by.rules)
	reason = cmp.Or(by.text, reason)
	if o, ok := objectOf(r); ok && relationMissing(by.rules, reason) {
		if node, is := r.node(); is {
			a.Options = append(a.Options, relationOption(node, o))
		}
	}
	a.addOptions(by, r, reason)
	for _, id := range by.left {
		a.note(componentOf(id) + " left the request to the next authorizers, by rule " + string(id) + ".")
	}
	if by.byRBAC && len(a.Options) == 0 {
		a.Options = roleOptions(r)
	}
}

// addOptions adds what would allow the request. If node scope denied it, these are first those of its
// rules, and then those of the rules that it applies to the node.
func (a *Answer) addOptions(by decider, r *Request, reason string) {
	scoped := slices.ContainsFunc(by.rules, ofScope)
	for _, id := range by.rules {
		// Node scope leaves a request to RBAC. What its rules allow says nothing about that.
		if ofScope(id) == scoped && (!scoped || !slices.Contains(by.left, id)) {
			a.Options = append(a.Options, optionsOf(id, r, reason)...)
		}
	}
	for _, id := range by.rules {
		if scoped && !ofScope(id) {
			a.Options = append(a.Options, prefixed("For the node, "+string(id)+": ", optionsOf(id, r, reason))...)
		}
	}
}

// admission explains a denial by admission. It returns an error if the text is not one.
func (a *Answer) admission(r *Request, message string) (*Answer, error) {
	by, known := admittedNotBy(message)
	if !known && r == nil {
		if a.bare(message) {
			return a, nil
		}
		return nil, ErrNoDecision
	}
	a.Step, a.By = Admission, by.by
	switch {
	case known:
	case ofKubelet.MatchString(message):
		a.Step, a.By = Kubelet, byKubelet
		a.note(textOfKubelet)
	default:
		a.By = "the API server: not an authorizer, and not a step of admission that bulkhead knows"
	}
	if len(by.rules) > 0 {
		a.Step = stepOf(decisive(by.rules))
	}
	a.addRules(by.rules)
	if relationMissing(by.rules, message) {
		a.Options = append(a.Options, Option{Text: anyRelation})
	}
	a.addOptions(by, r, message)
	if len(by.rules) > 0 && len(a.Rules) == 0 {
		return nil, fmt.Errorf("cannot explain %s: this version of bulkhead does not have the rule; use the version that is "+
			"installed", by.rules[0])
	}
	return a, nil
}

// stepOf returns the step of a rule that a text names alone.
func stepOf(id rules.ID) Step {
	switch componentOf(id) {
	case "Bulkhead's node-authorizer":
		return Authorization
	case "Bulkhead's kubelet-auth-proxy":
		return Kubelet
	}
	return Admission
}
