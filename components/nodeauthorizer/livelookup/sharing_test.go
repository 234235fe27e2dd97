// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package livelookup

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// No caller gets the result of a read that began before its call. All callers that arrive during a
// read share the next one.
func TestReadsAreSharedOnlyByEarlierCallers(t *testing.T) {
	bubble(t, after(200*time.Millisecond, both), func(t *testing.T, s *server, r *Reader) {
		start := time.Now()
		took := make(chan time.Duration, 100)
		ask := func(name string) {
			if why := secret(t.Context(), r, "n1", name); why != "" {
				t.Error(why)
			}
			took <- time.Since(start)
		}
		go ask("first")
		time.Sleep(time.Millisecond)
		for i := range 50 {
			go ask(fmt.Sprint("later-", i))
			time.Sleep(time.Millisecond)
		}
		if got := <-took; got != 200*time.Millisecond {
			t.Errorf("the first had to wait %v", got)
		}
		for range 50 {
			if got := <-took; got != 400*time.Millisecond {
				t.Errorf("a later one was answered after %v", got)
			}
		}
		if calls := s.seen(); len(calls) != 2 {
			t.Errorf("%d reads, want 2", len(calls))
		}
	})
}

// newest is a view that remembers the newest revision it has received.
type newest struct{ revision atomic.Int64 }

func (v *newest) Watches(string) bool { return true }

func (v *newest) Fold(_ string, objects ...runtime.Object) (int, error) {
	for _, object := range objects {
		revision, err := strconv.ParseInt(object.(metav1.Object).GetResourceVersion(), 10, 64)
		if err != nil {
			return 0, err
		}
		for old := v.revision.Load(); revision > old && !v.revision.CompareAndSwap(old, revision); {
			old = v.revision.Load()
		}
	}
	return len(objects), nil
}

// For any order of calls, changes and answers, a confirmed call has a view that is at least as new
// as the call.
func TestAConfirmedViewIsAsNewAsTheQuestion(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			var world atomic.Int64
			random := rand.New(rand.NewPCG(seed, 1))
			var mu sync.Mutex
			upTo := func(most time.Duration) time.Duration {
				mu.Lock()
				defer mu.Unlock()
				return time.Duration(random.Int64N(int64(most)))
			}
			s := &server{answer: func(ctx context.Context, c call) (runtime.Object, error) {
				pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x", ResourceVersion: strconv.FormatInt(world.Load(), 10)}}
				return after(upTo(100*time.Millisecond), func(context.Context, call) (runtime.Object, error) {
					return &corev1.PodList{Items: []corev1.Pod{pod}}, nil
				})(ctx, c)
			}}
			view := &newest{}
			r := newReader(t, s, view)
			var askers sync.WaitGroup
			confirmed := atomic.Int64{}
			for i := range 60 {
				askers.Go(func() {
					for j := range 10 {
						time.Sleep(upTo(200 * time.Millisecond))
						asked := world.Add(1)
						if why := secret(t.Context(), r, "n1", fmt.Sprint(i, "-", j)); why != "" {
							t.Error(why)
							continue
						}
						confirmed.Add(1)
						if got := view.revision.Load(); got < asked {
							t.Errorf("seed %d: asked at %d, answered from %d", seed, asked, got)
						}
					}
				})
			}
			askers.Wait()
			r.Wait()
			if reads := len(s.seen()); confirmed.Load() != 600 || reads > 60 {
				t.Errorf("seed %d: %d of 600 confirmed, by %d reads", seed, confirmed.Load(), reads)
			}
			time.Sleep(3 * time.Second)
		})
	}
}

// A caller that gives up does not affect the other callers of the same read, and leaves no state
// behind.
func TestCallersThatGiveUp(t *testing.T) {
	bubble(t, after(200*time.Millisecond, both), func(t *testing.T, s *server, r *Reader) {
		ctx, cancel := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		ask := func(ctx context.Context, node, name, want string) {
			callers.Go(func() {
				if why := secret(ctx, r, node, name); why != want {
					t.Errorf("%s asks about %s: %q, want %q", node, name, why, want)
				}
			})
			synctest.Wait()
		}
		const gaveUp = "not confirmed by a live read: the request was given up"
		ask(ctx, "n1", "what-is-in-the-air", gaveUp)
		ask(ctx, "n1", "what-waits", gaveUp)
		ask(t.Context(), "n1", "what-waits-too", "")
		ask(ctx, "n2", "what-is-in-the-air", gaveUp)
		ask(ctx, "n2", "what-waits", gaveUp)
		cancel()
		callers.Wait()
		if calls := s.seen(); len(calls) != 3 {
			t.Errorf("%d reads, want two of n1 and one of n2", len(calls))
		}
	})
}

func TestReadWithoutCallersIsSkipped(t *testing.T) {
	bubble(t, after(200*time.Millisecond, both), func(t *testing.T, s *server, r *Reader) {
		go secret(t.Context(), r, "n1", "first")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		var callers sync.WaitGroup
		for i := range 10 {
			callers.Go(func() { secret(ctx, r, "n1", fmt.Sprint(i)) })
		}
		callers.Wait()
		synctest.Wait()
		r.mu.Lock()
		if n := r.nodes["n1"]; n.users != 2 || len(n.lists.next) > 0 {
			t.Errorf("%d callers and reads are left, want the first of each", n.users)
		}
		if r.mu.Unlock(); r.begin(&flight{}) {
			t.Error("begins a read for nobody")
		}
		time.Sleep(time.Second)
		if calls := s.seen(); len(calls) != 1 {
			t.Errorf("%d reads, want that of the first caller only", len(calls))
		}
		if why := secret(t.Context(), r, "n1", "next"); why != "" {
			t.Error(why)
		}
	})
}
