// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// tally counts the results of attempts.
type tally struct {
	Made     int
	Verdicts map[verdict]int
	// Codes are by verdict and status.
	Codes map[string]int
	// Outside is the number of successes with objects that are not the own node's. Rights counts
	// them by verb and resource.
	Outside int
	Rights  map[string]int
}

func newTally() *tally {
	return &tally{Verdicts: map[verdict]int{}, Codes: map[string]int{}, Rights: map[string]int{}}
}

func (t *tally) add(a answer) {
	t.Made++
	t.Verdicts[a.Verdict]++
	t.Codes[fmt.Sprintf("%s %d", a.Verdict, a.Code)]++
	if a.Verdict == succeeded && a.Relation.isOutside() {
		t.Outside++
		t.Rights[fmt.Sprintf("%s (%s)", a.right(), a.Relation)]++
	}
}

// report is the result of a crawl.
type report struct {
	Setting     setting
	Credentials []*credential
	All         *tally
	By          map[*credential]*tally
	Skipped     []skipped
	// Used has, for each entry of the reviewed list, how many results it explains. Unused are the
	// entries that explain no result although a credential that they name was accepted.
	Used   map[int]int
	Unused []entry
	// Unexplained are the results that no entry explains. On in-tree it is empty, because results
	// are not compared with the list.
	Unexplained []answer
	Answers     []answer
}

// newReport counts the answers and compares them with the reviewed list. The verdict passed is
// treated like succeeded, because it proves a right, too.
func newReport(at setting, credentials []*credential, answers []answer, not []skipped, list []entry,
	judged bool) *report {
	r := &report{
		Setting: at, Credentials: credentials, All: newTally(), By: map[*credential]*tally{}, Skipped: not,
		Used: map[int]int{}, Answers: answers,
	}
	for _, c := range credentials {
		r.By[c] = newTally()
	}
	for _, a := range answers {
		r.All.add(a)
		r.By[a.Credential].add(a)
		if !judged || a.Verdict != succeeded && a.Verdict != passed {
			continue
		}
		explained := false
		for i, e := range list {
			if e.explains(a, at) {
				r.Used[i]++
				explained = true
			}
		}
		if !explained {
			r.Unexplained = append(r.Unexplained, a)
		}
	}
	for i, e := range list {
		there := slices.ContainsFunc(credentials,
			func(c *credential) bool { return c.known() && matchesAny(e.who, c.Name, ", ") })
		if judged && there && e.applies(at) && r.Used[i] == 0 {
			r.Unused = append(r.Unused, e)
		}
	}
	return r
}

// names returns the names of the credentials, each once, in their order.
func (r *report) names() []string {
	var all []string
	for _, c := range r.Credentials {
		if !slices.Contains(all, c.Name) {
			all = append(all, c.Name)
		}
	}
	return all
}

// of returns the sum of the tallies of all credentials with one name, such as several pods of one
// account.
func (r *report) of(name string) *tally {
	joined := newTally()
	for _, c := range r.Credentials {
		if c.Name != name {
			continue
		}
		t := r.By[c]
		joined.Made += t.Made
		joined.Outside += t.Outside
		addAll(joined.Verdicts, t.Verdicts)
		addAll(joined.Rights, t.Rights)
		addAll(joined.Codes, t.Codes)
	}
	return joined
}

func addAll[K comparable](to, from map[K]int) {
	for key, n := range from {
		to[key] += n
	}
}

// sorted returns the keys of a map with their counts.
func sorted[K cmp.Ordered](counts map[K]int) []string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		lines = append(lines, fmt.Sprintf("%v: %d", key, counts[key]))
	}
	return lines
}
