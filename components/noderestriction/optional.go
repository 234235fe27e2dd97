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

// anyOn is true if one of the optional rules has a part in answers.
func anyOn(modes map[rules.ID]rules.Mode, table []rules.Rule) bool {
	return slices.ContainsFunc(table, func(by rules.Rule) bool { return modes[by.ID] != rules.Off })
}

// off is true for an optional rule that has no part in any answer.
func (r *Restriction) off(by rules.Rule) bool { return r.config.Modes[by.ID] == rules.Off }

// optional runs the check of one optional rule as its mode says: not at all, or so
// that it denies, or so that it is only reported.
func (r *Restriction) optional(q *request, by rules.Rule, check func() *rules.Decision) *rules.Decision {
	if r.off(by) || q.exempts(by) {
		return nil
	}
	denied := check()
	if denied == nil || r.config.Modes[by.ID] == rules.Enforce {
		return denied
	}
	q.audit(denied)
	return nil
}
