// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package isolationreport

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	api "github.com/bulkhead-k8s/bulkhead/components/apis/nodeisolationreport"
)

// maxSteps limits the specs of one attack.
const maxSteps = 50

// storyKey names an attack: its number and the container of its specs.
type storyKey struct{ id, suite, name string }

// attacks returns the specs with the label of an attack, in the order of the attacks' numbers.
func attacks(specs []ran) []api.Attack {
	stories := map[storyKey][]ran{}
	for _, spec := range specs {
		if spec.Attack == "" {
			continue
		}
		at := storyKey{clean(spec.Attack, 20), spec.suite, strings.Join(spec.Container, ": ")}
		if len(spec.Container) == 0 {
			at.name = spec.Text
		}
		stories[at] = append(stories[at], spec)
	}
	// Specs that expect only allowances are legitimate counterparts of an attack, in a container of
	// their own.
	maps.DeleteFunc(stories, func(_ storyKey, specs []ran) bool {
		return !slices.ContainsFunc(specs, func(r ran) bool { return r.Want == Deny })
	})
	keys := slices.SortedFunc(maps.Keys(stories), func(a, b storyKey) int {
		return cmp.Or(cmp.Compare(number(a.id), number(b.id)), cmp.Compare(a.id, b.id), cmp.Compare(a.suite, b.suite),
			cmp.Compare(a.name, b.name))
	})
	list := make([]api.Attack, 0, len(keys))
	for _, key := range keys {
		list = append(list, story(key, stories[key]))
	}
	return list
}

// number returns the number in an ID such as T20, or 0.
func number(id string) int {
	n, err := strconv.Atoi(strings.TrimLeft(id, "T"))
	if err != nil {
		return 0
	}
	return n
}

func story(key storyKey, specs []ran) api.Attack {
	a := api.Attack{
		ID: key.id, Suite: clean(key.suite, maxName), Name: clean(key.name, maxName), Rules: rulesOf(specs),
		Verdict: verdictOf(specs),
	}
	slices.SortStableFunc(specs, func(a, b ran) int { return cmp.Compare(a.Line, b.Line) })
	for _, spec := range specs {
		a.Steps = append(a.Steps, spec.evidence(spec.Text))
	}
	if len(a.Steps) > maxSteps {
		a.MoreSteps, a.Steps = len(a.Steps)-maxSteps, a.Steps[:maxSteps]
	}
	return a
}

func rulesOf(specs []ran) []string {
	ids := []string{}
	for _, spec := range specs {
		for _, id := range spec.Rules {
			if !slices.Contains(ids, string(id)) {
				ids = append(ids, string(id))
			}
		}
	}
	slices.Sort(ids)
	return ids
}

// verdictOf returns how an attack ended.
func verdictOf(specs []ran) api.Verdict {
	// The rule does not matter here: a denial of any rule stops the attack.
	s := look("", specs)
	against := slices.ContainsFunc(specs, func(r ran) bool { return r.Want == Deny && r.outcome() == api.Allowed })
	switch {
	case against:
		return api.Succeeded
	case s.skipped == s.specs:
		return api.NotTried
	case s.failed > 0, s.timedOut > 0, s.unconfirmed > 0, s.denied == 0:
		return api.Unclear
	}
	return api.Stopped
}
