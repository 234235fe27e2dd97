// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// ExemptionsAnnotation names, on a ServiceAccount, what its pods may do to their own
// node although the node itself may not ([ParseExemptions]). On a pod it has no meaning:
// a pod's annotations may only narrow.
const ExemptionsAnnotation = "bulkhead.dev/node-scoped-exemptions"

// Exemption is a part of what binds a node that an owner may lift for pods on that node.
type Exemption string

// What there is to lift.
const (
	// Taints lets pods change the taints of their own Node, as a termination handler does.
	Taints Exemption = "taints"
	// Uncordon lets them make it schedulable again.
	Uncordon Exemption = "uncordon"
	// NodeAnnotations lets them annotate it with any key, as network agents do.
	NodeAnnotations Exemption = "node-annotations"
	// PodAnnotations lets them annotate pods on their node through the status, as network
	// agents do.
	PodAnnotations Exemption = "pod-annotations"
	// EventSource lets them tell events that do not name their node as the source. What
	// the events are about is held to the node all the same.
	EventSource Exemption = "event-source"
)

// lifts are the rules of NodeRestriction that do not bind who is exempted. They are about
// the node's own objects only: what keeps a node from others is never lifted.
var lifts = map[Exemption][]rules.ID{
	Taints:          {"NR-NODE-4"},
	Uncordon:        {"NR-CORDON-1"},
	NodeAnnotations: {"NR-ANNOTATION-1"},
	PodAnnotations:  {"NR-PODMETA-1"},
	EventSource:     {"NR-EVENT-1"},
}

// Exemptions are a set. The zero value, and nil, exempt from nothing.
type Exemptions struct {
	lifted []rules.ID
}

// Lifts reports whether the rule does not bind who has these exemptions, on its own node.
func (e *Exemptions) Lifts(rule rules.ID) bool {
	return e != nil && slices.Contains(e.lifted, rule)
}

// ParseExemptions reads the value of [ExemptionsAnnotation]: names of exemptions with
// commas between them. If one is not known there is none at all, and the error says
// which are; the result is never nil. The cost is bounded by [MaxValueLength].
func ParseExemptions(value string) (*Exemptions, error) {
	e := &Exemptions{}
	err := eachEntry(value, func(entry string) error { return e.add(Exemption(entry)) })
	if err != nil {
		return &Exemptions{}, fmt.Errorf("%s: %w", ExemptionsAnnotation, err)
	}
	return e, nil
}

func (e *Exemptions) add(name Exemption) error {
	rulesOf, known := lifts[name]
	if !known {
		return errors.New("there is no such exemption: there are " + strings.Join(exemptionNames(), ", "))
	}
	for _, id := range rulesOf {
		if !e.Lifts(id) {
			e.lifted = append(e.lifted, id)
		}
	}
	return nil
}

// Lifted are all rules that some exemption lifts, in order.
func Lifted() []rules.ID {
	var all []rules.ID
	for _, ids := range lifts {
		all = append(all, ids...)
	}
	slices.Sort(all)
	return all
}

func exemptionNames() []string {
	var names []string
	for name := range lifts {
		names = append(names, string(name))
	}
	slices.Sort(names)
	return names
}

// ModeAnnotation says, on a ServiceAccount, whether its pods are held to their nodes or
// only watched as if they were ([ParseMode]). On a pod it has no meaning: a pod's
// annotations may only narrow.
const ModeAnnotation = "bulkhead.dev/node-scope-mode"

// ParseMode reads the value of [ModeAnnotation]: "audit", or "enforce", which is what
// holds without one. A value that is neither is an error, and enforces.
func ParseMode(value string) (audits bool, err error) {
	mode := strings.Trim(value, blanks)
	switch mode {
	case rules.Audit.String():
		return true, nil
	case rules.Enforce.String():
		return false, nil
	}
	return false, fmt.Errorf("%s: %q: want enforce or audit", ModeAnnotation, shortened(mode))
}

var audited = rules.Rule{
	ID: "NS-PASS-3",
	Description: "An account that is marked audit is answered as if it had no scope, by the authorizer and by " +
		"admission; what it would have been refused is counted and told, with the rule. " +
		"Before the whole cluster has been seen nobody knows the mark, and it is denied as everybody is.",
	Source:    "Bulkhead: owners need to see before they enforce",
	Extension: true,
}
