// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"fmt"
	"iter"
	"os"
	"slices"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// CheckEveryRule fails for each problem that [Unproved] finds in the suite of this process, for each
// spec without a timeout, and if the index of its specs in components/rulebook is not up to date.
func CheckEveryRule(t *testing.T, all []rules.Rule) {
	t.Helper()
	check(t, all, Unproved)
}

// CheckNames fails for each problem that [Misnamed] finds in the suite of this process, for each spec
// without a timeout, and if the index of its specs in components/rulebook is not up to date.
func CheckNames(t *testing.T, all []rules.Rule) {
	t.Helper()
	check(t, all, Misnamed)
}

// CheckTimeouts fails for each spec without a timeout. It is for suites whose specs name no rules.
func CheckTimeouts(t *testing.T) {
	t.Helper()
	preview(t)
	for _, problem := range unbounded {
		t.Error(problem)
	}
}

func check(t *testing.T, all []rules.Rule, find func(types.Report, []rules.Rule) []string) {
	t.Helper()
	specs := preview(t)
	for _, problem := range append(find(specs, all), unbounded...) {
		t.Error(problem)
	}
	checkIndex(t, specs)
}

// preview returns the specs of the suite in this process, without running them.
func preview(t *testing.T) types.Report {
	t.Helper()
	if os.Getenv(KubeconfigVariable) != "" {
		// Ginkgo clones a suite for a preview without the top-level BeforeEach nodes (Suite.Clone).
		// Specs that run later in this process would lack these nodes.
		t.Skipf("%s is set: a preview would spoil the specs that run in this process", KubeconfigVariable)
	}
	return ginkgo.PreviewSpecs(t.Name())
}

// Unproved returns what a suite does not prove, from a preview of its specs. A problem is a rule
// without a spec that it allows, a rule without a spec that it denies, or a result of [Misnamed]. As
// in a report of profile hardened, an allowance also counts for the rule that allows. So a spec that
// another rule denies in hardened, and that this rule allows elsewhere, is not enough.
func Unproved(preview types.Report, all []rules.Rule) []string {
	problems := Misnamed(preview, all)
	proved := map[rules.ID]map[Want]bool{}
	for _, rule := range all {
		proved[rule.ID] = map[Want]bool{}
	}
	for _, claim := range claims(preview) {
		for _, id := range claim.Rules {
			if proved[id] != nil {
				proved[id][claim.Want] = true
			}
		}
		if allows := allowedIn(claim, all, Hardened); proved[allows] != nil {
			proved[allows][Allow] = true
		}
	}
	for _, rule := range all {
		for _, want := range []Want{Allow, Deny} {
			if !proved[rule.ID][want] {
				problems = append(problems, fmt.Sprintf("%s has no spec labelled %s%s", rule.ID, wantKey, want))
			}
		}
	}
	return problems
}

// allowedIn returns the rule that allows the request of a spec in the profile, or "" if the request is
// denied.
func allowedIn(claim Claim, all []rules.Rule, profile Profile) rules.ID {
	switch {
	case claim.Want == Allow:
		return claim.By
	case claim.Off != "" && isOff(claim, all, profile):
		return claim.Off
	}
	return ""
}

// Misnamed returns the specs that name no rule, no outcome, or a rule that does not exist. It also
// returns the specs that are denied by a rule that may be off and that do not name the outcome for
// that case.
func Misnamed(preview types.Report, all []rules.Rule) []string {
	known := map[rules.ID]rules.Rule{Behind: {}, "": {}}
	for _, rule := range all {
		known[rule.ID] = rule
	}
	var problems []string
	for spec, claim := range claims(preview) {
		problems = append(problems, wrongIn(claim, known, spec)...)
	}
	return problems
}

// claims returns the full text and the claim of each spec.
func claims(preview types.Report) iter.Seq2[string, Claim] {
	return func(yield func(string, Claim) bool) {
		for _, spec := range preview.SpecReports {
			if spec.LeafNodeType == types.NodeTypeIt && !yield(spec.FullText(), ReadClaim(spec.Labels())) {
				return
			}
		}
	}
}

func wrongIn(claim Claim, known map[rules.ID]rules.Rule, spec string) []string {
	var problems []string
	if len(claim.Rules) == 0 {
		problems = append(problems, fmt.Sprintf("%q names no rule", spec))
	}
	if claim.Want != Allow && claim.Want != Deny {
		problems = append(problems, fmt.Sprintf("%q does not say what it wants", spec))
	}
	for _, id := range append(slices.Clone(claim.Rules), claim.By, claim.Off) {
		if _, ok := known[id]; !ok {
			problems = append(problems, fmt.Sprintf("%q names %s, which is not a rule", spec, id))
		}
	}
	if claim.Want == Deny {
		problems = append(problems, wrongWhileOff(claim, known, spec)...)
	}
	return slices.Compact(problems)
}

func wrongWhileOff(claim Claim, known map[rules.ID]rules.Rule, spec string) []string {
	for _, id := range claim.Rules {
		switch rule := known[id]; {
		case rule.Optional && claim.Off == "" && !claim.OnlyHardened:
			return []string{fmt.Sprintf("%q does not say which rule allows it while %s is off", spec, id)}
		case rule.ID != "" && !rule.Extension && claim.Off != "":
			return []string{fmt.Sprintf("%q names the outcome without %s, but that rule is always in force", spec, id)}
		}
	}
	return nil
}
