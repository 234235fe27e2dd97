// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package livelookup

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/component-base/metrics"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

func TestUnchangedResultIsCachedBriefly(t *testing.T) {
	const latency = 50 * time.Millisecond
	bubble(t, after(latency, both), func(t *testing.T, s *server, r *Reader) {
		expect := func(reads int, when string) {
			t.Helper()
			if got := len(s.seen()); got != reads {
				t.Errorf("%s: %d reads, want %d", when, got, reads)
			}
		}
		secret(t.Context(), r, "n1", "x")
		time.Sleep(DefaultLimits().NegativeCacheTTL - latency)
		secret(t.Context(), r, "n1", "x")
		expect(1, "as long after the read began")
		time.Sleep(time.Nanosecond)
		secret(t.Context(), r, "n1", "x")
		expect(2, "later")
		secret(t.Context(), r, "n1", "y")
		expect(3, "another object")
		r.Refresh(t.Context(), "n1", graph.ConfigMap, "ns", "x")
		expect(4, "another kind")
		r.Refresh(t.Context(), "n1", graph.Secret, "other", "x")
		expect(5, "another namespace")
		secret(t.Context(), r, "n2", "x")
		expect(6, "another node")
		r.RefreshNode(t.Context(), "n1")
		r.RefreshNode(t.Context(), "n1")
		expect(7, "a node, twice")
	})
}

// A pod that has replaced another pod of its name has another UID, and is read again immediately.
func TestAnAnswerAboutAPodIsForItsUIDOnly(t *testing.T) {
	bubble(t, noPods, func(t *testing.T, s *server, r *Reader) {
		for _, step := range []struct {
			name, uid string
			reads     int
		}{
			{"the first", "1", 1}, {"the same again", "1", 1}, {"its successor", "2", 2}, {"that again", "2", 2},
			{"a UID that no API server gives", strings.Repeat("3", maxUID+1), 2},
		} {
			if why := r.RefreshPod(t.Context(), "n1", "ns", "p", step.uid); why != "" {
				t.Errorf("%s: %s", step.name, why)
			}
			if got := len(s.seen()); got != step.reads {
				t.Errorf("%s: %d reads, want %d", step.name, got, step.reads)
			}
		}
	})
}

// A result with news is not held: if the object is deleted and created again, it is read again.
func TestChangedResultIsNotCached(t *testing.T) {
	bubble(t, onePod, func(t *testing.T, s *server, r *Reader) {
		for range 3 {
			secret(t.Context(), r, "n1", "x")
		}
		if got := len(s.seen()); got != 3 {
			t.Errorf("%d reads, want 3", got)
		}
	})
}

// The number of held questions is limited. A question that was removed is read again.
func TestCachedLookupsAreBounded(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	h := newNegativeCache(Limits{NegativeCacheSize: 100, NegativeCacheTTL: time.Second}, clock)
	for i := range 10_000 {
		h.add(question{node: "n1", kind: graph.Secret, namespace: "ns", name: fmt.Sprint(i)}, clock.Now())
	}
	kept := 0
	for i := range 10_000 {
		if h.has(question{node: "n1", kind: graph.Secret, namespace: "ns", name: fmt.Sprint(i)}) {
			kept++
		}
	}
	if kept != 100 {
		t.Errorf("keeps %d questions, want 100", kept)
	}
	h.add(question{node: "late"}, clock.Now().Add(-time.Second))
	if h.has(question{node: "late"}) {
		t.Error("holds an answer that is a second old already")
	}
}

// All times except the duration of a read use the configured clock.
func TestReaderUsesTheConfiguredClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := clocktesting.NewFakeClock(time.Now())
		s := &server{answer: both}
		r := New(Config{Client: s.client(t), View: &folded{}, Registry: metrics.NewKubeRegistry(), Clock: clock})
		confirm := func(name string) <-chan string {
			why := make(chan string, 1)
			go func() { why <- secret(t.Context(), r, "n1", name) }()
			synctest.Wait()
			return why
		}
		if why := <-confirm("x"); why != "" {
			t.Error(why)
		}
		second := confirm("y")
		time.Sleep(time.Hour)
		if len(s.seen()) != 1 {
			t.Error("did not wait for the clock to go on")
		}
		clock.Step(50 * time.Millisecond)
		if why := <-second; why != "" || len(s.seen()) != 2 {
			t.Errorf("%q, %d reads", why, len(s.seen()))
		}
		if <-confirm("y"); len(s.seen()) != 2 {
			t.Error("not held")
		}
		clock.Step(50 * time.Millisecond)
		synctest.Wait()
		if r.mu.Lock(); len(r.nodes) > 0 {
			t.Error("the node is kept")
		}
		r.mu.Unlock()
	})
}
