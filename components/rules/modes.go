// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Modes returns one mode for all optional rules of a table. If that mode is Enforce, the rules with
// [Rule.Audited] get Audit.
func Modes(table []Rule, mode Mode) map[ID]Mode {
	modes := map[ID]Mode{}
	for _, r := range table {
		if r.Optional {
			modes[r.ID] = r.Among(mode)
		}
	}
	return modes
}

// Among returns the mode of an optional rule when the operator sets one mode for all rules.
func (r Rule) Among(all Mode) Mode {
	if r.Audited && all == Enforce {
		return Audit
	}
	return all
}

// ParseModes returns the mode of every optional rule of a table. A rule that is named in single
// gets the mode from there. Every other rule gets its mode from all, as in [Modes]. ParseModes
// reports every problem, in the order of the IDs.
func ParseModes(table []Rule, all Mode, single map[string]string) (modes map[ID]Mode, problems []error) {
	modes = Modes(table, all)
	for _, id := range slices.Sorted(maps.Keys(single)) {
		mode, err := ParseMode(single[id])
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", id, err))
		}
		if err := checkOptional(table, ID(id)); err != nil {
			problems = append(problems, err)
			continue
		}
		modes[ID(id)] = mode
	}
	return modes, problems
}

func checkOptional(table []Rule, id ID) error {
	if r, ok := Find(table, id); !ok {
		return fmt.Errorf("there is no rule %q: optional are %s", id, optionalIDs(table))
	} else if !r.Optional {
		return fmt.Errorf("%s is always enforced: optional are %s", id, optionalIDs(table))
	}
	return nil
}

func optionalIDs(table []Rule) string {
	var ids []string
	for _, r := range table {
		if r.Optional {
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
