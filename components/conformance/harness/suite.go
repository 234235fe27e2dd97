// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Environment variables that change a run: the number of questions, and the seed of the first test.
const (
	QuestionsVariable = "BULKHEAD_DIFF_QUESTIONS"
	SeedVariable      = "BULKHEAD_DIFF_SEED"
)

// Gates is a setting of the feature gates that changes an answer.
type Gates struct {
	Name string
	// Share is the share of all questions, in tenths.
	Share int
	Set   map[string]bool
}

// Suite asks random questions, seed by seed.
type Suite struct {
	// Questions is the default number of questions. PerSeed is the number of questions for one
	// seed.
	Questions, PerSeed int
	// Seed is the default first seed.
	Seed  int
	Gates []Gates
	// Workers is the number of concurrent workers. 0 means one for each core.
	Workers int
	// Prepare, if not nil, is called once for each setting of the gates.
	Prepare func(t *testing.T, gates Gates)
	// Worker prepares one worker for a setting of the gates. The returned function asks the
	// questions of one seed. It returns a description of the first wrong answer, or "".
	Worker func(t *testing.T, gates Gates) func(seed uint64, counts Counts) (wrong string)
}

// Run runs the suite, with one subtest for each setting of the gates, and prints the counts. A
// failure prints its seed. full is true if at least the default number of questions was asked and
// nothing failed. Only then must every case have occurred.
func (s Suite) Run(t *testing.T) (counts Counts, full bool) {
	t.Helper()
	total, first := fromEnvironment(t, QuestionsVariable, s.Questions), fromEnvironment(t, SeedVariable, s.Seed)
	counts = Counts{}
	start, seeds := time.Now(), 0
	for _, gates := range s.Gates {
		n := (total*gates.Share/10 + s.PerSeed - 1) / s.PerSeed
		seeds += max(n, 1)
		t.Run(gates.Name, func(t *testing.T) { s.run(t, gates, first, max(n, 1), counts) })
		first += s.Questions
	}
	fmt.Printf("asked both subjects %d questions in %v, first seed %d\n%v", seeds*s.PerSeed,
		time.Since(start).Round(time.Millisecond), first-len(s.Gates)*s.Questions, counts)
	return counts, total >= s.Questions && !t.Failed()
}

func (s Suite) run(t *testing.T, gates Gates, first, seeds int, counts Counts) {
	t.Helper()
	if s.Prepare != nil {
		s.Prepare(t, gates)
	}
	workers := s.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var lock sync.Mutex
	var group sync.WaitGroup
	var next atomic.Int64
	for range workers {
		ask := s.Worker(t, gates)
		group.Go(func() {
			own := Counts{}
			for i := int(next.Add(1)) - 1; i < seeds && !t.Failed(); i = int(next.Add(1)) - 1 {
				if wrong := ask(uint64(first+i), own); wrong != "" { //nolint:gosec // not negative
					t.Errorf("run it again with %s=%d %s=1 and -run %s:\nseed %d: %s",
						SeedVariable, first+i, QuestionsVariable, t.Name(), first+i, wrong)
				}
			}
			lock.Lock()
			defer lock.Unlock()
			counts.merge(own)
		})
	}
	group.Wait()
}

func fromEnvironment(t *testing.T, name string, fallback int) int {
	t.Helper()
	text, set := os.LookupEnv(name)
	if !set {
		return fallback
	}
	number, err := strconv.Atoi(text)
	if err != nil || number < 0 {
		t.Fatalf("%s=%q is not a number", name, text)
	}
	return number
}
