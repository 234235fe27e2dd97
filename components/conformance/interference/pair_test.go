// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package interference_test

import (
	"fmt"
	"iter"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
)

// self is the node whose requests must not depend on unrelated objects.
const self = "n1"

// member is an object or a question, with the clusters that have it.
type member[T any] struct {
	value         T
	first, second bool
}

// shared returns a member of both clusters.
func shared[T any](value T) member[T] { return member[T]{value, true, true} }

// unrelated returns a member of the first, the second, or both clusters.
func unrelated[T any](rng harness.RNG, value T) member[T] {
	in := 1 + rng.IntN(3)
	return member[T]{value, in&1 != 0, in&2 != 0}
}

// pair is two clusters and the questions that they are asked, one after the other. A question of
// another user may be asked in one cluster only.
type pair[O, Q any] struct {
	objects   []member[O]
	questions []member[Q]
	// lag is true if the watches have not shown some objects yet.
	lag bool
}

// answerer answers one question. The result has everything that must not differ: the decision, the
// reason, the annotations, and the work.
type answerer[Q any] func(question Q) string

// policy is a component in the form that pairs need.
type policy[O, Q any] struct {
	pair func(rng harness.RNG) pair[O, Q]
	// build returns the component in a cluster with these objects.
	build func(objects []O) answerer[Q]
	// known returns the name of the documented difference that two answers show, or "". It may be
	// nil.
	known  func(first, second string) string
	object func(O) string
	asked  func(Q) string
}

func (p policy[O, Q]) wrong(of pair[O, Q], counts harness.Counts) string {
	var first, second []O
	for _, m := range of.objects {
		if m.first {
			first = append(first, m.value)
		}
		if m.second {
			second = append(second, m.value)
		}
	}
	answers := [2]answerer[Q]{p.build(first), p.build(second)}
	for i, q := range of.questions {
		var got [2]string
		if q.first {
			got[0] = answers[0](q.value)
		}
		if q.second {
			got[1] = answers[1](q.value)
		}
		if !q.first || !q.second {
			continue
		}
		counts[firstWord(got[0])]++
		if got[0] == got[1] {
			continue
		}
		if known := p.knownAs(of.lag, got); known != "" {
			counts["known: "+known]++
			continue
		}
		return fmt.Sprintf("question %d: %s\n  first:  %s\n  second: %s", i, p.asked(q.value), got[0], got[1])
	}
	return ""
}

func (p policy[O, Q]) knownAs(lag bool, got [2]string) string {
	if lag && isReadAgain(got[0], got[1]) {
		return readAgain
	}
	if p.known == nil {
		return ""
	}
	return p.known(got[0], got[1])
}

func firstWord(answer string) string {
	word, _, _ := strings.Cut(answer, " ")
	return word
}

// ask checks the pair of a seed. It returns a short example if the answers differ.
func (p policy[O, Q]) ask(seed uint64, counts harness.Counts) string {
	of := p.pair(harness.Seeded(seed))
	if p.wrong(of, counts) == "" {
		return ""
	}
	// On a busy machine, a lookup may get no answer in time. A dependence shows each time.
	if p.wrong(of, harness.Counts{}) == "" {
		counts["different only once"]++
		return ""
	}
	fails := func(less pair[O, Q]) bool { return p.wrong(less, harness.Counts{}) != "" }
	return p.describe(harness.Shrink(of, smaller[O, Q], fails))
}

// smaller returns pairs with fewer objects or fewer questions, and pairs in which an unrelated
// object is in one cluster only.
func smaller[O, Q any](of pair[O, Q]) iter.Seq[pair[O, Q]] {
	return func(yield func(pair[O, Q]) bool) {
		for questions := range harness.WithoutParts(of.questions) {
			if !yield(pair[O, Q]{of.objects, questions, of.lag}) {
				return
			}
		}
		for objects := range harness.WithoutParts(of.objects) {
			if !yield(pair[O, Q]{objects, of.questions, of.lag}) {
				return
			}
		}
	}
}

func (p policy[O, Q]) describe(of pair[O, Q]) string {
	var b strings.Builder
	b.WriteString(p.wrong(of, harness.Counts{}))
	for _, m := range of.objects {
		in := "both"
		switch {
		case !m.second:
			in = "first"
		case !m.first:
			in = "second"
		}
		fmt.Fprintf(&b, "\n  in %s: %s", in, p.object(m.value))
	}
	return b.String()
}

// run asks a suite of seeds. Each seed is one pair. If all pairs were asked, each answer in reached
// must have occurred, and each known difference.
func (p policy[O, Q]) run(t *testing.T, worker func(*testing.T) policy[O, Q], reached []string) {
	t.Helper()
	counts, full := harness.Suite{
		Questions: defaultPairs, PerSeed: 1, Seed: 1, Gates: []harness.Gates{{Name: "pairs", Share: 10}},
		Worker: func(t *testing.T, _ harness.Gates) func(uint64, harness.Counts) string { return worker(t).ask },
	}.Run(t)
	if !full {
		return
	}
	for _, answer := range reached {
		if counts[answer] == 0 {
			t.Errorf("no answer %q: the generator no longer reaches it", answer)
		}
	}
}

// Pairs are small and short-lived. With the usual setting, most of the time is garbage collection.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}

// unregistered registers no metrics. A process keeps all its registries, and each pair would need new ones:
// a million pairs would need more memory than a machine has.
type unregistered struct{ metrics.KubeRegistry }

func (unregistered) MustRegister(...metrics.Registerable)    {}
func (unregistered) RawMustRegister(...prometheus.Collector) {}

// defaultPairs is the number of pairs of one policy. BULKHEAD_DIFF_QUESTIONS sets another.
const defaultPairs = 10_000

// The shrunk pair has only what makes the answers differ.
func TestShrunkPair(t *testing.T) {
	count := func(objects []string) answerer[string] {
		return func(q string) string { return fmt.Sprint(q == "count" && slices.Contains(objects, "secret")) }
	}
	same := func(s string) string { return s }
	leaky := policy[string, string]{build: count, object: same, asked: same,
		pair: func(rng harness.RNG) pair[string, string] {
			of := pair[string, string]{questions: []member[string]{shared("other"), shared("count"), shared("other")}}
			for range 20 {
				of.objects = append(of.objects, unrelated(rng, "noise"))
			}
			of.objects = append(of.objects, member[string]{"secret", false, true})
			return of
		}}
	want := "question 0: count\n  first:  false\n  second: true\n  in second: secret"
	if got := leaky.ask(1, harness.Counts{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
