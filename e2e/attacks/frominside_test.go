// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/admission"
	"github.com/bulkhead-k8s/bulkhead/components/rulebook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// anyRequest are the families that deny by the state of node-authorizer, not by the request.
var anyRequest = map[string]string{
	"NS-UNREADY": "what the decision needs cannot be read",
	"NS-LIMIT":   "the account has no share left of the requests that are decided at one time",
}

// TestEveryFamilyDeniesFromInsideAPod looks for one request of each family of node scope that leaves
// from inside a pod, with the pod's own token, and is denied.
func TestEveryFamilyDeniesFromInsideAPod(t *testing.T) {
	families, denied := map[string]bool{}, map[string]bool{}
	for _, rule := range slices.Concat(nodescope.Rules, admission.Rules) {
		families[family(rule.ID)] = true
		if deniesFromInside(rule.ID) {
			denied[family(rule.ID)] = true
		}
	}
	for _, s := range stories {
		for _, a := range s.Attempts {
			if strings.HasSuffix(a.By.Words, "from inside the pod") {
				denied[family(a.Rule)] = true
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(families)) {
		if _, excepted := anyRequest[id]; excepted == denied[id] {
			t.Errorf("%s: a request from inside a pod is denied: %v. Is an exception: %v", id, denied[id], excepted)
		}
	}
}

// deniesFromInside looks for a spec of e2e/nodescope.
func deniesFromInside(id rules.ID) bool {
	return slices.ContainsFunc(rulebook.Specs(id), func(s rulebook.Spec) bool {
		return s.Suite == "nodescope" && s.Want == "deny" && strings.Contains(s.Text, "from inside a pod")
	})
}

// family is the ID without its number.
func family(id rules.ID) string {
	text := string(id)
	if at := strings.LastIndexByte(text, '-'); at > strings.IndexByte(text, '-') {
		return text[:at]
	}
	return text
}
