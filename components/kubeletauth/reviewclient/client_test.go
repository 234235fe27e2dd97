// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package reviewclient

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/component-base/metrics"
)

func newClient(config Config[string]) *Client[string] {
	config.Name, config.Registry = "test", metrics.NewKubeRegistry()
	if config.Keep == nil {
		config.Keep = func(v string) (time.Duration, int) { return time.Minute, len(v) }
	}
	config.Entries, config.Bytes = 100, 1<<20
	if config.InFlight == 0 {
		config.InFlight, config.Waiting = 100, 100
	}
	return New(config)
}

// answers counts reviews, and answers each after a delay.
type answers struct {
	asked, inAir, most atomic.Int64
	after              time.Duration
	err                error
}

func (s *answers) ask(ctx context.Context) (string, error) {
	s.asked.Add(1)
	now := s.inAir.Add(1)
	defer s.inAir.Add(-1)
	for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); {
		most = s.most.Load()
	}
	select {
	case <-time.After(s.after):
		return "yes", s.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (s *answers) question(key byte) Query[string] {
	return Query[string]{Key: keyFor(key), Ask: s.ask}
}

// answer calls the client as a user of the package does.
func answer(ctx context.Context, a *Client[string], q Query[string]) (string, error) {
	if v, ok := a.Cached(q.Key, q.MaxAge); ok {
		return v, nil
	}
	return a.Do(ctx, q)
}

func TestCallersWithOneQuestionShareOneReview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := newClient(Config[string]{}), &answers{after: time.Second}
		var callers sync.WaitGroup
		for range 100 {
			callers.Go(func() {
				if got, err := answer(t.Context(), a, s.question(1)); got != "yes" || err != nil {
					t.Errorf("got %q, %v", got, err)
				}
			})
		}
		callers.Wait()
		if got, err := answer(t.Context(), a, s.question(1)); got != "yes" || err != nil || s.asked.Load() != 1 {
			t.Errorf("got %q, %v after %d reviews, want one", got, err, s.asked.Load())
		}
		if _, err := answer(t.Context(), a, s.question(2)); err != nil || s.asked.Load() != 2 {
			t.Errorf("another question: %v, %d reviews", err, s.asked.Load())
		}
		time.Sleep(time.Minute)
		if _, err := answer(t.Context(), a, s.question(1)); err != nil || s.asked.Load() != 3 {
			t.Errorf("after its time: %v, %d reviews", err, s.asked.Load())
		}
	})
}

func TestCanceledCallerDoesNotAffectOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := newClient(Config[string]{}), &answers{after: time.Second}
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		var callers sync.WaitGroup
		callers.Go(func() {
			if _, err := answer(short, a, s.question(1)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("who gives up hears %v", err)
			}
		})
		callers.Go(func() {
			if got, err := answer(t.Context(), a, s.question(1)); got != "yes" || err != nil {
				t.Errorf("who waits hears %q, %v", got, err)
			}
		})
		callers.Wait()
		if s.asked.Load() != 1 {
			t.Errorf("%d reviews", s.asked.Load())
		}
	})
}

func TestAReviewEndsWithItsLastCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := newClient(Config[string]{}), &answers{after: 5 * time.Second}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := answer(short, a, s.question(1)); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		a.Wait()
		if left := s.inAir.Load(); left != 0 || len(a.calls) != 0 {
			t.Errorf("%d reviews in the air, %d calls", left, len(a.calls))
		}
		if got, err := answer(t.Context(), a, s.question(1)); got != "yes" || err != nil || s.asked.Load() != 2 {
			t.Errorf("who comes next hears %q, %v after %d reviews", got, err, s.asked.Load())
		}
	})
}

// A frozen API server delays a caller for at most reviewTimeout.
func TestAReviewHasAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := newClient(Config[string]{}), &answers{after: time.Hour}
		start := time.Now()
		if _, err := answer(t.Context(), a, s.question(1)); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if took := time.Since(start); took != reviewTimeout {
			t.Errorf("took %v", took)
		}
	})
}

func TestReviewsInFlightAndQueuedAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := newClient(Config[string]{InFlight: 3, Waiting: 5}), &answers{after: time.Second}
		var callers sync.WaitGroup
		var busy, fine atomic.Int64
		for key := range byte(20) {
			callers.Go(func() {
				switch _, err := answer(t.Context(), a, s.question(key)); {
				case errors.Is(err, ErrBusy):
					busy.Add(1)
				case err == nil:
					fine.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		callers.Wait()
		if busy.Load() != 12 || fine.Load() != 8 || s.most.Load() != 3 {
			t.Errorf("%d busy, %d fine, at most %d in the air; want 12, 8 and 3", busy.Load(), fine.Load(), s.most.Load())
		}
		if a.queues[false].waiting.Load() != 0 || len(a.queues[false].slots) != 0 {
			t.Error("places are left taken")
		}
	})
}

// Reviews of queries that are not trusted delay only each other.
func TestTrustedQuestionsHavePlacesOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := newClient(Config[string]{InFlight: 1, Waiting: 1}), &answers{after: time.Hour}
		for key := range byte(2) {
			go func() { _, _ = answer(t.Context(), a, s.question(key)) }()
		}
		synctest.Wait()
		quick := &answers{after: time.Second}
		for _, row := range []struct {
			trusted bool
			want    error
		}{{false, ErrBusy}, {true, nil}} {
			q := quick.question(9)
			q.Trusted = row.trusted
			if _, err := answer(t.Context(), a, q); !errors.Is(err, row.want) {
				t.Errorf("trusted %v: %v, want %v", row.trusted, err, row.want)
			}
		}
		a.Wait()
	})
}

// A query with a maximum age does not use an older answer from the cache. Its own answer is cached
// for all other queries.
func TestMaxAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := newClient(Config[string]{}), &answers{after: time.Second}
		ask := func(maxAge time.Duration, reviews int64) {
			t.Helper()
			q := s.question(1)
			q.MaxAge = maxAge
			if got, err := answer(t.Context(), a, q); got != "yes" || err != nil || s.asked.Load() != reviews {
				t.Errorf("got %q, %v after %d reviews, want %d", got, err, s.asked.Load(), reviews)
			}
		}
		ask(0, 1)
		time.Sleep(4 * time.Second)
		// The age counts from the start of the review, 5 s ago, and not from its answer.
		ask(5*time.Second, 1)
		time.Sleep(time.Nanosecond)
		ask(5*time.Second, 2)
		ask(0, 2)
		ask(5*time.Second, 2)
	})
}

// A review that began too early may have been answered before a right was removed. A query with a
// maximum age does not share it, and its answer is not cached.
func TestMaxAgeOfAReviewThatIsBeingMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newClient(Config[string]{})
		question := func(says string, after, maxAge time.Duration) Query[string] {
			return Query[string]{Key: keyFor(1), MaxAge: maxAge, Ask: func(context.Context) (string, error) {
				time.Sleep(after)
				return says, nil
			}}
		}
		var callers sync.WaitGroup
		callers.Go(func() {
			if got, err := answer(t.Context(), a, question("old", 8*time.Second, 0)); got != "old" || err != nil {
				t.Errorf("the first hears %q, %v", got, err)
			}
		})
		time.Sleep(6 * time.Second)
		for _, want := range []string{"new", "new"} {
			if got, err := answer(t.Context(), a, question("new", time.Second, 5*time.Second)); got != want || err != nil {
				t.Errorf("who asked later hears %q, %v", got, err)
			}
		}
		callers.Wait()
		if got, ok := a.Cached(keyFor(1), 0); got != "new" || !ok || len(a.calls) != 0 {
			t.Errorf("held is %q, %v; %d calls", got, ok, len(a.calls))
		}
	})
}

func TestMaxAgeOfAContext(t *testing.T) {
	if got := MaxAgeOf(t.Context()); got != 0 {
		t.Errorf("without a bound it is %v", got)
	}
	if got := MaxAgeOf(WithMaxAge(t.Context(), time.Second)); got != time.Second {
		t.Errorf("got %v", got)
	}
}
