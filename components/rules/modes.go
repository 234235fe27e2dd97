// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Modes returns the modes of all rules of a table that have one, when the operator sets one mode for
// all optional rules. See [Rule.Among].
func Modes(table []Rule, mode Mode) map[ID]Mode {
	modes := map[ID]Mode{}
	for _, r := range table {
		if r.HasMode() {
			modes[r.ID] = r.Among(mode)
		}
	}
	return modes
}

// Among returns the mode of a rule when the operator sets one mode for all optional rules. A rule with
// [Rule.Configured] is enforced, whatever this mode is. A rule with [Rule.Audited] is audited instead
// of enforced.
func (r Rule) Among(all Mode) Mode {
	switch {
	case r.Configured:
		return Enforce
	case r.Audited && all == Enforce:
		return Audit
	}
	return all
}

// ParseModes returns the modes of all rules of a table that have one. A rule that is named in single
// gets the mode from there. Every other rule, and one whose mode in single is invalid, gets its mode
// from all, as in [Modes]. ParseModes reports one problem of each rule, in the order of the IDs.
func ParseModes(table []Rule, all Mode, single map[string]string) (modes map[ID]Mode, problems []error) {
	modes = Modes(table, all)
	for _, id := range slices.Sorted(maps.Keys(single)) {
		mode, err := ParseMode(single[id])
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", id, err))
			continue
		}
		if err := checkHasMode(table, ID(id), mode); err != nil {
			problems = append(problems, err)
			continue
		}
		modes[ID(id)] = mode
	}
	return modes, problems
}

func checkHasMode(table []Rule, id ID, mode Mode) error {
	switch r, ok := Find(table, id); {
	case !ok:
		return fmt.Errorf("there is no rule %q; you can set the mode of: %s", id, idsWithMode(table))
	case !r.HasMode():
		return fmt.Errorf("%s is always enforced; you can set the mode of: %s", id, idsWithMode(table))
	case r.Configured && mode == Off:
		return fmt.Errorf("%s cannot be off: use audit, or remove its field from the node policy", id)
	}
	return nil
}

func idsWithMode(table []Rule) string {
	var ids []string
	for _, r := range table {
		if r.HasMode() {
			ids = append(ids, string(r.ID))
		}
	}
	if len(ids) == 0 {
		return "none"
	}
	return strings.Join(ids, ", ")
}

// Find returns the rule with that ID. It returns false if the table has no such rule.
func Find(table []Rule, id ID) (Rule, bool) {
	i := slices.IndexFunc(table, func(r Rule) bool { return r.ID == id })
	if i < 0 {
		return Rule{}, false
	}
	return table[i], true
}
