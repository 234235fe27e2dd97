// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"regexp"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Rules in onlyRefuse never let a request pass: their rows end with another rule. Rules in
// onlyPass never deny: another rule denies.
var (
	onlyRefuse = map[rules.ID]bool{"NS-GRANT-1": true, "NS-UNREADY": true, "NS-IDENT-1": true, "NS-IDENT-2": true,
		"NS-IDENT-3": true, "NS-IDENT-4": true}
	onlyPass = map[rules.ID]bool{"NS-PASS-1": true, "NS-PASS-2": true, "NS-PASS-3": true}
)

func TestEveryRuleHasARowOnEitherSide(t *testing.T) {
	through, refusals := map[rules.ID]bool{}, map[rules.ID]bool{}
	for _, tc := range allRows() {
		id, ok := rules.FromReason(tc.reason)
		if !ok {
			t.Errorf("row %q names no rule", tc.name)
		}
		if tc.passed {
			through[id] = true
		} else {
			refusals[id] = true
		}
	}
	// TestAuditDeniesNothing has the rows of this rule: all requests that are denied here.
	through[audited.ID] = true
	for _, r := range Rules {
		if r.ID == limit.ID || r.ID == credentialRevoked.ID {
			continue // the transport decides one, TestRevokedToken tests the other
		}
		if refusals[r.ID] == onlyPass[r.ID] {
			t.Errorf("%s: a row is refused by it: %v, want %v", r.ID, refusals[r.ID], !onlyPass[r.ID])
		}
		if through[r.ID] == onlyRefuse[r.ID] {
			t.Errorf("%s: a row passes by it: %v, want %v", r.ID, through[r.ID], !onlyRefuse[r.ID])
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
	form := regexp.MustCompile(`^NS-[A-Z]+(-[1-9])?$`)
	seen := map[rules.ID]bool{}
	for _, r := range Rules {
		if !form.MatchString(string(r.ID)) {
			t.Errorf("%q is no ID of this component", r.ID)
		}
		if seen[r.ID] {
			t.Errorf("%s occurs twice", r.ID)
		}
		seen[r.ID] = true
		if !strings.HasSuffix(r.Description, ".") || r.Source == "" || !r.Extension || r.Optional {
			t.Errorf("%s needs a description that is a sentence, and a source; it is an extension and not optional", r.ID)
		}
	}
}
