// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// tally counts what became of attempts.
type tally struct {
	Made     int
	Verdicts map[verdict]int
	// Codes are by verdict and status.
	Codes map[string]int
	// Beyond are successes with what is not the own node's, and Rights the different verbs
	// and resources among them.
	Beyond int
	Rights map[string]int
}

func newTally() *tally {
	return &tally{Verdicts: map[verdict]int{}, Codes: map[string]int{}, Rights: map[string]int{}}
}

func (t *tally) add(a answer) {
	t.Made++
	t.Verdicts[a.Verdict]++
	t.Codes[fmt.Sprintf("%s %d", a.Verdict, a.Code)]++
	if a.Verdict == succeeded && a.Relation.beyond() {
		t.Beyond++
		t.Rights[fmt.Sprintf("%s (%s)", a.right(), a.Relation)]++
	}
}

// report is what a crawl has found.
type report struct {
	Setting     setting
	Credentials []*credential
	All         *tally
	By          map[*credential]*tally
	Skipped     []skipped
	// Used are the entries of the reviewed list with how much each explains, Unused those
	// that explain nothing although somebody is there whom they are about.
	Used   map[int]int
	Unused []entry
	// Unexplained are what no entry explains. On in-tree there are none, for nothing is
	// held against the list.
	Unexplained []answer
	Answers     []answer
}

// newReport counts the answers and holds them against the reviewed list. Who passes is held
// against it as who succeeds is: it is a right, too.
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

// names are those of the credentials, each once, in their order.
func (r *report) names() []string {
	var all []string
	for _, c := range r.Credentials {
		if !slices.Contains(all, c.Name) {
			all = append(all, c.Name)
		}
	}
	return all
}

// of joins the tallies of credentials that have one name: several pods of one account.
func (r *report) of(name string) *tally {
	joined := newTally()
	for _, c := range r.Credentials {
		if c.Name != name {
			continue
		}
		t := r.By[c]
		joined.Made += t.Made
		joined.Beyond += t.Beyond
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

// sorted are the keys of a map with their numbers.
func sorted[K cmp.Ordered](counts map[K]int) []string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		lines = append(lines, fmt.Sprintf("%v: %d", key, counts[key]))
	}
	return lines
}
