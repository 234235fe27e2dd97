// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"slices"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Modes gives all optional rules of this component one mode.
func Modes(mode rules.Mode) map[rules.ID]rules.Mode { return rules.Modes(Rules, mode) }

// ParseModes is [rules.ParseModes] for the rules of this component.
func ParseModes(all rules.Mode, single map[string]string) (modes map[rules.ID]rules.Mode, problems []error) {
	return rules.ParseModes(Rules, all, single)
}

// placedModes are the modes of [Rules], each at its rule's place. To look the IDs up
// took longer than most decisions.
type placedModes []rules.Mode

func placeModes(modes map[rules.ID]rules.Mode) placedModes {
	placed := make(placedModes, len(Rules))
	for place, r := range Rules {
		placed[place] = modes[r.ID]
	}
	return placed
}

// anyOn is true if one of the optional rules has a part in answers.
func (m placedModes) anyOn(table []*rule) bool {
	return slices.ContainsFunc(table, func(by *rule) bool { return m[by.place] != rules.Off })
}

// off is true for an optional rule that has no part in any answer.
func (r *Restriction) off(by *rule) bool { return r.modes[by.place] == rules.Off }

// optional runs the check of one optional rule as its mode says: not at all, or so
// that it refuses, or so that it is only reported.
func (r *Restriction) optional(q *request, by *rule, check func() *refusal) *refusal {
	if r.off(by) {
		return nil
	}
	return r.hold(q, by, check)
}

// hold is not inlined, so that [Restriction.optional] is: a rule that is off costs a
// comparison.
//
//go:noinline
func (r *Restriction) hold(q *request, by *rule, check func() *refusal) *refusal {
	if q.lifts(by) {
		return nil
	}
	refused := check()
	if refused == nil || r.modes[by.place] == rules.Enforce {
		return refused
	}
	q.audit(refused.rule)
	return nil
}
