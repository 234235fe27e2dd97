// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package livelookup

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

const (
	nodeSpent = "not confirmed by a live read: the node's budget of reads is spent"
	spent     = "not confirmed by a live read: the budget of reads is spent"
	noReply   = "not confirmed by a live read: the API server did not answer in time"
)

// tally counts the answers and records the longest wait for each.
type tally struct {
	mu    sync.Mutex
	count map[string]int
	most  map[string]time.Duration
}

func (a *tally) ask(ask func() string) {
	start := time.Now()
	why := ask()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.count == nil {
		a.count, a.most = map[string]int{}, map[string]time.Duration{}
	}
	a.count[why]++
	a.most[why] = max(a.most[why], time.Since(start))
}

// askEach makes n concurrent calls, each for another name.
func askEach(n int, ask func(name string) string) *tally {
	var answers tally
	var callers sync.WaitGroup
	for i := range n {
		callers.Go(func() { answers.ask(func() string { return ask(fmt.Sprint("x", i)) }) })
	}
	callers.Wait()
	return &answers
}

func TestListsOfANodeAreRateLimited(t *testing.T) {
	bubble(t, after(5*time.Millisecond, both), func(t *testing.T, s *server, r *Reader) {
		var callers sync.WaitGroup
		for i := range 20 {
			callers.Go(func() {
				for j := range 40 {
					if why := secret(t.Context(), r, "n1", fmt.Sprint(i, "-", j)); why != "" {
						t.Error(why)
					}
				}
			})
		}
		callers.Wait()
		apart(t, s.seen(), 50*time.Millisecond)
	})
}

// apart checks that calls begin with this interval between them, and not much more.
func apart(t *testing.T, calls []call, interval time.Duration) {
	t.Helper()
	for i := 1; i < len(calls); i++ {
		if got := calls[i].at.Sub(calls[i-1].at); got < interval || got > interval+6*time.Millisecond {
			t.Errorf("call %d begins %v after the one before, want %v", i, got, interval)
		}
	}
	if len(calls) < 2 {
		t.Errorf("%d calls", len(calls))
	}
}

// While the reads of all nodes wait in line, the rate limit of one node does not change.
func TestQueueTimeDoesNotCountForTheRate(t *testing.T) {
	bubble(t, after(60*time.Millisecond, both), func(t *testing.T, s *server, r *Reader) {
		end := time.Now().Add(2 * time.Second)
		var callers sync.WaitGroup
		for i := range 100 {
			callers.Go(func() {
				for j := 0; time.Now().Before(end); j++ {
					secret(t.Context(), r, fmt.Sprint("n", i), fmt.Sprint(j))
				}
			})
		}
		callers.Wait()
		last := map[string]time.Time{}
		for _, c := range s.seen() {
			if before, ok := last[c.node]; ok && c.at.Sub(before) < 50*time.Millisecond {
				t.Fatalf("lists of %s begin %v apart", c.node, c.at.Sub(before))
			}
			last[c.node] = c.at
		}
		if s.mostAir != 32 {
			t.Errorf("%d reads in the air, want 32", s.mostAir)
		}
	})
}

func TestReadsByNameHaveABucketForEachNode(t *testing.T) {
	bubble(t, both, func(t *testing.T, s *server, r *Reader) {
		for i := range 60 {
			if why := attachment(t.Context(), r, "n1", fmt.Sprint(i)); why != "" {
				t.Error(why)
			}
		}
		calls := s.seen()
		if burst := calls[39].at.Sub(calls[0].at); burst != 0 {
			t.Errorf("40 reads take %v, want nothing", burst)
		}
		if rest := calls[59].at.Sub(calls[39].at).Round(time.Millisecond); rest != time.Second {
			t.Errorf("20 more take %v, want a second", rest)
		}
	})
}

func TestReadsOfANodeRunOneAtATime(t *testing.T) {
	bubble(t, after(10*time.Millisecond, both), func(t *testing.T, s *server, r *Reader) {
		answers := askEach(40, func(name string) string { return attachment(t.Context(), r, "n1", name) })
		if answers.count[""] != 40 || s.mostLane != 1 {
			t.Errorf("%v, with up to %d reads of the node in the air", answers.count, s.mostLane)
		}
	})
}

func TestReadsOfAllNodesHaveABudget(t *testing.T) {
	bubble(t, both, func(t *testing.T, s *server, r *Reader) {
		answers := askEach(500, func(name string) string { return secret(t.Context(), r, name, name) })
		if answers.count[""] != 500 || answers.most[""].Round(time.Millisecond) != 500*time.Millisecond {
			t.Errorf("%v, the last after %v; want 500 at 200 a second after 400", answers.count, answers.most[""])
		}
		time.Sleep(10 * time.Second)
		before := len(s.seen())
		answers = askEach(1000, func(name string) string { return secret(t.Context(), r, name, name) })
		if got := answers.count[spent]; got < 390 || answers.most[spent] != time.Second {
			t.Errorf("%v, the longest %v; want those to be refused whose turn does not come in a second", answers.count,
				answers.most[spent])
		}
		if reads := len(s.seen()) - before; reads > 601 {
			t.Errorf("%d reads in a second", reads)
		}
	})
}

// Callers beyond the limit get an answer immediately. Callers that wait for reads by name must not
// use up the places of those that wait for a list.
func TestWaitingReadsAreBounded(t *testing.T) {
	bubble(t, after(20*time.Millisecond, both), func(t *testing.T, _ *server, r *Reader) {
		answers := askEach(150, func(name string) string { return secret(t.Context(), r, "n1", name) })
		if answers.count[""] != 100 || answers.count[nodeSpent] != 50 || answers.most[nodeSpent] != 0 {
			t.Errorf("lists: %v, waited %v", answers.count, answers.most)
		}
		time.Sleep(10 * time.Second)
		gets := make(chan *tally)
		go func() {
			gets <- askEach(80, func(name string) string { return attachment(t.Context(), r, "n1", name) })
		}()
		time.Sleep(time.Millisecond)
		lists := askEach(50, func(name string) string { return secret(t.Context(), r, "n1", "again-"+name) })
		if lists.count[""] != 50 || lists.most[""] > 70*time.Millisecond {
			t.Errorf("lists beside reads by name: %v, waited %v", lists.count, lists.most)
		}
		byName := <-gets
		if byName.count[nodeSpent] != 30 || byName.most[nodeSpent] != 0 {
			t.Errorf("reads by name: %v, waited %v", byName.count, byName.most)
		}
	})
}

func TestNoCallerWaitsLongerThanASecond(t *testing.T) {
	never := func(ctx context.Context, _ call) (runtime.Object, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	bubble(t, never, func(t *testing.T, s *server, r *Reader) {
		answers := askEach(10, func(name string) string { return secret(t.Context(), r, "n1", name) })
		if answers.count[noReply] == 0 || answers.most[noReply] > time.Second {
			t.Errorf("lists: %v, waited %v", answers.count, answers.most)
		}
		answers = askEach(10, func(name string) string { return attachment(t.Context(), r, "n2", name) })
		if answers.count[noReply] != 2 || answers.count[spent] != 8 || answers.most[spent] != time.Second {
			t.Errorf("reads by name: %v, waited %v", answers.count, answers.most)
		}
		for _, c := range s.seen() {
			if time.Since(c.at) > 4*time.Second {
				t.Errorf("%v", c)
			}
		}
	})
}
