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

// ExemptionsAnnotation is the annotation of a ServiceAccount that names what its pods may do to
// their own node although the node itself may not ([ParseExemptions]). It has no effect on a
// pod: annotations of a pod may only narrow access.
const ExemptionsAnnotation = "bulkhead.dev/node-scoped-exemptions"

// Exemption is a limit of nodes that an owner may disable for pods on that node.
type Exemption string

// All exemptions.
const (
	// Taints permits pods to change the taints of their own Node, as a termination handler
	// does.
	Taints Exemption = "taints"
	// Uncordon permits pods to make their own Node schedulable again.
	Uncordon Exemption = "uncordon"
	// NodeAnnotations permits pods to set any annotation of their own Node, as network agents
	// do.
	NodeAnnotations Exemption = "node-annotations"
	// PodAnnotations permits pods to annotate pods on their node through the status, as network
	// agents do.
	PodAnnotations Exemption = "pod-annotations"
	// EventSource permits pods to create events whose source is not their node. The objects of
	// the events must still belong to the node.
	EventSource Exemption = "event-source"
)

// lifts are the rules of NodeRestriction that an exemption disables. They are all about the
// node's own objects. A rule that protects the objects of other nodes can never be disabled.
var lifts = map[Exemption][]rules.ID{
	Taints:          {"NR-NODE-4"},
	Uncordon:        {"NR-CORDON-1"},
	NodeAnnotations: {"NR-ANNOTATION-1"},
	PodAnnotations:  {"NR-PODMETA-1"},
	EventSource:     {"NR-EVENT-1"},
}

// Exemptions are a set of exemptions. The zero value and nil are empty.
type Exemptions struct {
	exempted []rules.ID
}

// Lifts reports whether these exemptions disable the rule on the user's own node.
func (e *Exemptions) Lifts(rule rules.ID) bool {
	return e != nil && slices.Contains(e.exempted, rule)
}

// ParseExemptions parses the value of [ExemptionsAnnotation], a comma-separated list of
// exemptions. If one name is unknown, the result is empty, and the error lists the valid names.
// The result is never nil. [MaxValueLength] limits the cost.
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
			e.exempted = append(e.exempted, id)
		}
	}
	return nil
}

// Exempted returns all rules that an exemption can disable, sorted.
func Exempted() []rules.ID {
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

// ModeAnnotation is the annotation of a ServiceAccount that sets the mode of its scope: enforce
// or audit ([ParseMode]). It has no effect on a pod: annotations of a pod may only narrow
// access.
const ModeAnnotation = "bulkhead.dev/node-scope-mode"

// ParseMode parses the value of [ModeAnnotation]: "audit" or "enforce". Without the annotation,
// the mode is enforce. For any other value, the mode is enforce and an error is returned.
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
	Description: "The authorizer and admission answer an account in mode audit as if it had no scope. They count " +
		"and log each request that its scope would deny, with the rule. Until the whole cluster has been read, " +
		"the mode is unknown and the account is denied like one with an enforced scope.",
	Source:    "Bulkhead: owners need to see before they enforce",
	Extension: true,
}
