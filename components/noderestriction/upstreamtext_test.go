// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// TestEveryUpstreamRuleHasAText fails for a rule of upstream whose denial nobody could explain.
func TestEveryUpstreamRuleHasAText(t *testing.T) {
	for _, r := range Rules {
		has := slices.ContainsFunc(upstreamTexts, func(u upstreamText) bool { return u.rule.ID == r.ID })
		if has == r.Extension {
			t.Errorf("%s: extension %v, has a text of upstream %v", r.ID, r.Extension, has)
		}
	}
}

func TestRuleOfUpstreamKnowsOnlyNodeRestriction(t *testing.T) {
	for _, row := range []struct {
		name, message string
		want          rules.ID
	}{
		{"other node's Node", `nodes "b" is forbidden: node "a" is not allowed to modify node "b"`, "NR-NODE-1"},
		{"the same text on another resource", `pods "b" is forbidden: node "a" is not allowed to modify node "b"`, ""},
		{"RBAC", `secrets "s" is forbidden: User "u" cannot get resource "secrets" in API group "" in the namespace "n"`, ""},
		{"empty", "", ""},
		{"3 MB", "nodes " + strings.Repeat("x", 3<<20), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := RuleOfUpstream(row.message); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// checkUpstreamText holds the texts against each denial in the tables of this package. What the
// API server's own decoding rules out (an object of another type, an operation that a subresource
// of pods does not have), and a look-up without an answer, have no text of their own.
func checkUpstreamText(t *testing.T, by rules.ID, message string) {
	t.Helper()
	place := slices.IndexFunc(Rules, func(r rules.Rule) bool { return r.ID == by })
	if place < 0 || Rules[place].Extension || strings.Contains(message, "unexpected type") ||
		strings.HasPrefix(message, "pods") && strings.Contains(message, "unexpected operation") && by != podUpdate.ID {
		return
	}
	message = strings.TrimSuffix(message, " ["+string(by)+"]")
	if strings.HasSuffix(message, " is forbidden: no answer") || strings.HasSuffix(message, " is forbidden: timeout") {
		return
	}
	var all []rules.ID
	for _, u := range upstreamTexts {
		if u.message.MatchString(message) && !slices.Contains(all, u.rule.ID) {
			all = append(all, u.rule.ID)
		}
	}
	if !slices.Equal(all, []rules.ID{by}) {
		t.Errorf("without its ID the message means %v, want only %s:\n  %s", all, by, message)
	}
}
