// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"regexp"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// gates are the rules that never allow. A request that passes them is decided by another rule.
var gates = map[rules.ID]bool{"NA-IDENT-1": true, "NA-UNREADY": true, "NA-LIMIT": true, "NA-DEFAULT": true}

func TestEveryRuleHasARowOnEitherSide(t *testing.T) {
	through, refusals := map[rules.ID]bool{}, map[rules.ID]bool{}
	for _, tc := range allRows() {
		id, ok := rules.FromReason(tc.reason)
		if !ok {
			t.Errorf("row %q names no rule", tc.name)
		}
		if tc.effect == refused {
			refusals[id] = true
		} else {
			through[id] = true
		}
	}
	for _, r := range Rules {
		// NA-UNREADY has a separate test. The transport decides NA-LIMIT. Optional rules are off in
		// these tables and have twins instead of rows.
		if r.ID == unready.ID || r.ID == limit.ID || r.Optional {
			continue
		}
		if !refusals[r.ID] {
			t.Errorf("%s has no row that it refuses", r.ID)
		}
		if through[r.ID] == gates[r.ID] {
			t.Errorf("%s: a row gets through by it: %v, want %v", r.ID, through[r.ID], !gates[r.ID])
		}
		delete(through, r.ID)
		delete(refusals, r.ID)
	}
	for _, left := range []map[rules.ID]bool{through, refusals} {
		for id := range left {
			t.Errorf("%s decides but is not in Rules", id)
		}
	}
}

func TestRulesAreWellFormed(t *testing.T) {
	form := regexp.MustCompile(`^NA-[A-Z]+(-[A-Z]+|-[1-9])?$`)
	seen := map[rules.ID]bool{}
	for _, r := range Rules {
		if !form.MatchString(string(r.ID)) {
			t.Errorf("%q is no ID of this component", r.ID)
		}
		if seen[r.ID] {
			t.Errorf("%s occurs twice", r.ID)
		}
		seen[r.ID] = true
		if !strings.HasSuffix(r.Description, ".") || r.Source == "" {
			t.Errorf("%s needs a description that is a sentence, and a source", r.ID)
		}
	}
}
