// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Modes gives all optional rules of a table one mode; where that is Enforce, those
// that are [Rule.Audited] get Audit.
func Modes(table []Rule, mode Mode) map[ID]Mode {
	modes := map[ID]Mode{}
	for _, r := range table {
		if r.Optional {
			modes[r.ID] = r.Among(mode)
		}
	}
	return modes
}

// Among is the mode of an optional rule where all rules are to have that mode.
func (r Rule) Among(all Mode) Mode {
	if r.Audited && all == Enforce {
		return Audit
	}
	return all
}

// ParseModes gives all optional rules of a table one mode, and then those in
// single the modes that are named there. It reports every problem, in the order of
// the IDs.
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

// Find returns the rule of that ID, if it is in the table.
func Find(table []Rule, id ID) (Rule, bool) {
	i := slices.IndexFunc(table, func(r Rule) bool { return r.ID == id })
	if i < 0 {
		return Rule{}, false
	}
	return table[i], true
}
