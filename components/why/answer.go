// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rulebook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Outcome says what happened to a request, or would happen to it.
type Outcome string

// The outcomes.
const (
	Allowed Outcome = "allowed"
	Denied  Outcome = "denied"
)

// Step is the part of the API server's work that made the decision.
type Step string

// The steps.
const (
	Authorization Step = "authorization"
	Admission     Step = "admission"
	Kubelet       Step = "kubelet"
)

// Answer explains one decision. All strings are safe to print.
type Answer struct {
	// Request is one line. It is empty if the text does not name the request.
	Request string  `json:"request,omitempty"`
	Outcome Outcome `json:"outcome"`
	Step    Step    `json:"step"`
	// By is the authorizer or the admission step that decided.
	By string `json:"by"`
	// Reason is its text.
	Reason string `json:"reason,omitempty"`
	// Rules are the rules of Bulkhead that decided, or that decide like the component of Kubernetes
	// that did.
	Rules []Rule `json:"rules,omitempty"`
	// Findings are the rules in audit mode that would have denied the request.
	Findings []Rule `json:"findings,omitempty"`
	// Path is how the object is related to the node. It is nil if the decision does not depend on it.
	Path *Path `json:"path,omitempty"`
	// View is how old the view of node-authorizer is on each control-plane host, if it decided by a
	// path.
	View []ViewAge `json:"view,omitempty"`
	// Options are what would allow the request.
	Options []Option `json:"options,omitempty"`
	Notes   []string `json:"notes,omitempty"`
}

// Rule describes a rule, and its mode.
type Rule struct {
	ID          rules.ID `json:"id"`
	Description string   `json:"description"`
	Source      string   `json:"source"`
	// Here is the mode in the cluster that was asked. It is empty if none was asked.
	Here string `json:"here,omitempty"`
	// Hardened and Parity are the modes in these profiles by default.
	Hardened string `json:"hardened"`
	Parity   string `json:"parity"`
	Needs    string `json:"needs,omitempty"`
}

// Option is one way to allow the request.
type Option struct {
	// Setting is a field of the Installation, Command is a command. Both may be empty.
	Setting string `json:"setting,omitempty"`
	Command string `json:"command,omitempty"`
	// Text is a sentence.
	Text string `json:"text,omitempty"`
	// GivesUp is what Bulkhead allows because of the setting.
	GivesUp string `json:"givesUp,omitempty"`
}

// note adds a sentence once.
func (a *Answer) note(text string) {
	for _, have := range a.Notes {
		if have == text {
			return
		}
	}
	a.Notes = append(a.Notes, text)
}

// describe returns the rule. It returns false for a rule that this version does not know.
func describe(id rules.ID) (Rule, bool) {
	r, ok := rulebook.Find(id)
	if !ok {
		return Rule{}, false
	}
	return Rule{ID: r.ID, Description: r.Description, Source: r.Source, Needs: rulebook.Needs(r),
		Hardened: rulebook.DefaultIn(controlplane.Hardened, r), Parity: rulebook.DefaultIn(controlplane.Parity, r)}, true
}

// addRules describes the rules. It notes those that this version does not know.
func (a *Answer) addRules(ids []rules.ID) {
	for _, id := range ids {
		if r, ok := describe(id); ok {
			a.Rules = append(a.Rules, r)
		} else {
			a.note("This version of bulkhead does not have rule " + webhook.Loggable(string(id)) + ". Use the version that is " +
				"installed.")
		}
	}
}

// In sets the modes of the cluster's record.
func (a *Answer) In(here *rulebook.Here) {
	for _, list := range [][]Rule{a.Rules, a.Findings} {
		for i := range list {
			if r, ok := rulebook.Find(list[i].ID); ok {
				list[i].Here = here.Mode(r)
			}
		}
	}
}
