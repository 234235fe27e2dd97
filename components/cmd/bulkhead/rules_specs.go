// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/rulebook"
	"github.com/bulkhead-k8s/bulkhead/components/why"
)

// shownSpecs bounds the specs in the text of one rule: some rules have more than 100.
const shownSpecs = 5

// suiteOf has the suite of each component, by the prefix of the rule IDs. The other suites run attacks
// and failures.
var suiteOf = map[string]string{"NA": "nodeauthorizer", "NR": "noderestriction", "KA": "kubeletauth", "NS": "nodescope"}

// printRule prints one rule as text, with some of its specs.
func printRule(out io.Writer, r why.FullRule) error {
	all := len(r.Specs)
	r.Specs = someSpecs(r)
	if err := why.PrintRule(out, r); err != nil || len(r.Specs) == all {
		return err
	}
	_, err := fmt.Fprintf(out, "%13sand %d more: -o yaml prints all %d\n", "", all-len(r.Specs), all)
	return err
}

// someSpecs returns at most shownSpecs specs of a rule: denied and allowed requests, and first those in the
// suite of its component.
func someSpecs(r why.FullRule) []rulebook.Spec {
	if len(r.Specs) <= shownSpecs {
		return r.Specs
	}
	prefix, _, _ := strings.Cut(string(r.ID), "-")
	var deny, allow []rulebook.Spec
	for _, own := range []bool{true, false} {
		for _, s := range r.Specs {
			switch {
			case (s.Suite == suiteOf[prefix]) != own:
			case s.Want == "deny":
				deny = append(deny, s)
			default:
				allow = append(allow, s)
			}
		}
	}
	denied := min(len(deny), max(shownSpecs/2+1, shownSpecs-len(allow)))
	return slices.Concat(deny[:denied], allow[:min(len(allow), shownSpecs-denied)])
}

// suggestPattern returns an error that suggests a pattern, if IDs contain the text of one that matches none.
func suggestPattern(pattern string, err error) error {
	word := strings.Trim(strings.TrimSpace(pattern), "*")
	inside := "*" + strings.ToUpper(word) + "*"
	if _, none := rulebook.Match(inside); word == "" || none != nil {
		return err
	}
	return fmt.Errorf("cannot find a rule %q: no ID matches; `%s rules '%s'` prints the rules with this text in their ID",
		pattern, programName(), inside)
}
