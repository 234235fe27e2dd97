// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// allRows are the rows with writes of accounts.
func allRows() []row {
	return slices.Concat(nodeRows(), exemptionRows(), podRows(), markRows(), customRows(), identityRows(), tokenRows(),
		tokenSecretRows())
}

func TestEveryRuleRefusesARow(t *testing.T) {
	refusals := map[rules.ID]bool{}
	for _, row := range slices.Concat(allRows(), nodeMarkRows()) {
		if refusals[row.by] = true; row.by != "" && !strings.HasSuffix(row.says, " ["+string(row.by)+"]") {
			t.Errorf("%s: %q does not end in %s", row.name, row.says, row.by)
		}
	}
	for _, r := range Rules {
		if !refusals[r.ID] {
			t.Errorf("no row is refused by %s", r.ID)
		}
	}
	if !refusals[""] {
		t.Error("no row is admitted")
	}
}

func TestRulesAreWellFormed(t *testing.T) {
	form := regexp.MustCompile(`^NS-[A-Z]+-[1-9]$`)
	seen := map[rules.ID]bool{}
	for _, r := range slices.Concat(nodescope.Rules, Rules) {
		if seen[r.ID] {
			t.Errorf("%s occurs twice", r.ID)
		}
		seen[r.ID] = true
	}
	for _, r := range Rules {
		if !form.MatchString(string(r.ID)) || !strings.HasSuffix(r.Description, ".") || r.Source == "" || !r.Extension ||
			r.Optional {
			t.Errorf("%s needs a description that is a sentence, and a source; it is an extension and not optional", r.ID)
		}
	}
	if unready.ID != "NS-UNREADY" {
		t.Errorf("what is not known is refused by %q", unready.ID)
	}
}

func TestExemptionsDisableExemptableRules(t *testing.T) {
	for _, id := range nodescope.Exempted() {
		if !slices.Contains(noderestriction.Exemptable, id) {
			t.Errorf("%s is lifted, but NodeRestriction leaves it out for nobody", id)
		}
	}
}
