// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package isolationreport

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	api "github.com/bulkhead-k8s/bulkhead/components/apis/nodeisolationreport"
)

// Change is how the result of a rule differs between two reports.
type Change string

// The changes.
const (
	// Gained: the rule holds only in the second report. Lost: it holds only in the first.
	Gained Change = "gained"
	Lost   Change = "lost"
	// Other: the results differ, and the rule holds in neither report.
	Other Change = "other"
	Same  Change = "same"
)

// Changes are all changes, in the order in which pages show them.
func Changes() []Change { return []Change{Gained, Lost, Other, Same} }

// Comparison is the difference between two reports.
type Comparison struct {
	Verdict       string
	First, Second *api.NodeIsolationReport
	Rules         []RulePair
	Attacks       []AttackPair
	// Counts are the numbers of rules by change.
	Counts map[Change]int
	// Notes say what limits the comparison.
	Notes []string
}

// RulePair is one rule in two reports. A rule that one report does not have is nil there.
type RulePair struct {
	ID, Profile, Description string
	First, Second            *api.Rule
	Change                   Change
}

// AttackPair is one attack in two reports.
type AttackPair struct {
	ID, Suite, Name string
	First, Second   *api.Attack
}

// Compare compares two reports. The rules and attacks keep the order of the reports.
func Compare(first, second *api.NodeIsolationReport) *Comparison {
	c := &Comparison{First: first, Second: second, Counts: map[Change]int{}}
	pairs := pair(first.Rules, second.Rules, func(r api.Rule) string { return r.ID })
	for _, p := range pairs {
		rule := cmp.Or(p.second, p.first)
		one := RulePair{rule.ID, rule.Profile, rule.Description, p.first, p.second, changeOf(p.first, p.second)}
		c.Counts[one.Change]++
		c.Rules = append(c.Rules, one)
	}
	stories := pair(first.Attacks, second.Attacks, func(a api.Attack) string {
		return a.ID + "\n" + a.Suite + "\n" + a.Name
	})
	for _, p := range stories {
		story := cmp.Or(p.second, p.first)
		c.Attacks = append(c.Attacks, AttackPair{story.ID, story.Suite, story.Name, p.first, p.second})
	}
	slices.SortStableFunc(c.Attacks, func(a, b AttackPair) int { return cmp.Compare(number(a.ID), number(b.ID)) })
	c.Verdict, c.Notes = c.verdict(), c.notes()
	return c
}

type pairOf[T any] struct{ first, second *T }

// pair returns the elements of both lists by key, in the order of the second list. Elements that it
// does not have come last.
func pair[T any](first, second []T, key func(T) string) []pairOf[T] {
	index := map[string]int{}
	var pairs []pairOf[T]
	for i := range second {
		index[key(second[i])] = len(pairs)
		pairs = append(pairs, pairOf[T]{second: &second[i]})
	}
	for i := range first {
		if at, ok := index[key(first[i])]; ok {
			pairs[at].first = &first[i]
			continue
		}
		pairs = append(pairs, pairOf[T]{first: &first[i]})
	}
	return pairs
}

func changeOf(first, second *api.Rule) Change {
	before, after := api.Result(""), api.Result("")
	if first != nil {
		before = first.Result
	}
	if second != nil {
		after = second.Result
	}
	switch {
	case before == after:
		return Same
	case after == api.Held:
		return Gained
	case before == api.Held:
		return Lost
	}
	return Other
}

// verdict says in words what the second cluster has that the first one does not.
func (c *Comparison) verdict() string {
	a, b := c.First.Summary, c.Second.Summary
	first, second := c.First.Metadata.Profile, c.Second.Metadata.Profile
	if first == second {
		first, second = "the first cluster", "the second cluster"
	}
	text := fmt.Sprintf("%d rules hold on %s, and %d on %s.", a.Rules.Held, first, b.Rules.Held, second)
	gained, lost := c.Counts[Gained], c.Counts[Lost]
	text += fmt.Sprintf(" %d %s on %s only, and %s on %s only.", gained, plural(gained, "holds", "hold"), second,
		cmp.Or(strings.TrimPrefix(fmt.Sprint(lost), "0"), "none"), first)
	if a.Attacks.Total() > 0 || b.Attacks.Total() > 0 {
		text += fmt.Sprintf(" %s stopped %d of %d attacks, and %s %d of %d.", upper(first), a.Attacks.Stopped,
			a.Attacks.Total(), second, b.Attacks.Stopped, b.Attacks.Total())
	}
	return text
}

func upper(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

func (c *Comparison) notes() (notes []string) {
	a, b := c.First.Metadata, c.Second.Metadata
	for _, field := range []struct{ what, first, second string }{
		{"versions of Kubernetes", a.KubernetesVersion, b.KubernetesVersion},
		{"versions of Bulkhead's suites", a.BulkheadVersion, b.BulkheadVersion},
	} {
		if field.first != field.second {
			notes = append(notes, fmt.Sprintf("The reports have different %s: %s and %s.", field.what, field.first,
				field.second))
		}
	}
	return notes
}
