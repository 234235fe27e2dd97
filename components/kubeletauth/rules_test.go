// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestRulesAreWellFormed(t *testing.T) {
	form := regexp.MustCompile(`^KA-[A-Z]+-[1-9]$`)
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
			t.Errorf("%s needs a promise that is a sentence, and a source", r.ID)
		}
		if r.Optional && !r.Extension || r.Audited && !r.Optional {
			t.Errorf("%s: only what upstream does not have is optional, and only what is optional is audited: %+v", r.ID, r)
		}
	}
}

// TestEveryRuleOfAPathDecides compares the mapping with the table. Each rule of a path must apply
// to at least one request in its mode, and no other rule may apply.
func TestEveryRuleOfAPathDecides(t *testing.T) {
	for _, tc := range []struct {
		mode Mode
		want []rules.Rule
	}{
		{Compat, pathRules},
		{Strict, slices.Concat(pathRules, strictRules)},
	} {
		reached := map[rules.ID]bool{}
		for _, row := range endpointRows {
			for method := range verbs {
				for _, upgrade := range []bool{false, true} {
					mapping, _ := tc.mode.Map(Request{Method: method, Path: row.paths[0], Upgrade: upgrade})
					reached[mapping.Rule] = true
				}
			}
		}
		for _, r := range tc.want {
			// Strict replaces KA-PROXY-1 by a more specific rule for every path.
			if !reached[r.ID] && (tc.mode != Strict || r.ID != RuleProxy) {
				t.Errorf("%v: no request reaches %s", tc.mode, r.ID)
			}
			delete(reached, r.ID)
		}
		for id := range reached {
			t.Errorf("%v: %s decides and is no rule of a path in that mode", tc.mode, id)
		}
	}
}

func TestEveryFirstSegmentHasAnEndpoint(t *testing.T) {
	for _, first := range firstSegments {
		if endpointOf(first) == &unknownEndpoint {
			t.Errorf("%q is listed and has no endpoint", first)
		}
	}
	for _, row := range endpointRows {
		first, _ := cutSegment(row.paths[0][1:])
		if known := endpointOf(first) != &unknownEndpoint; known != slices.Contains(firstSegments, first) {
			t.Errorf("%q has an endpoint: %v; it is listed: %v", first, known, !known)
		}
	}
}
