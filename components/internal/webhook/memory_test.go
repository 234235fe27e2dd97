// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

const (
	testMaxBody      = 8 << 20
	testQueueTimeout = time.Second
)

func newTestMemory() *memoryLimiter {
	return newMemoryLimiter(Memory{SmallBody: 1 << 10, Small: 4 << 10, Large: 4 * testMaxBody, Shares: 4}, testMaxBody,
		testQueueTimeout)
}

// A request waits for memory, and is admitted if another request frees memory in time.
func TestReserveWaitsForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestMemory()
		var reserved []*reservation
		for range 4 {
			r, _ := l.reserve(t.Context(), testMaxBody)
			reserved = append(reserved, r)
		}
		time.AfterFunc(testQueueTimeout/2, reserved[0].release)
		started := time.Now()
		r, over := l.reserve(t.Context(), -1)
		if over != WithinLimits || time.Since(started) != testQueueTimeout/2 {
			t.Fatalf("over %q after %v", over, time.Since(started))
		}
		if r.size != testMaxBody {
			t.Errorf("a review of unknown size reserves %d bytes, want %d", r.size, testMaxBody)
		}
		started = time.Now()
		if _, over := l.reserve(t.Context(), testMaxBody); over != AllMemory || time.Since(started) != testQueueTimeout {
			t.Errorf("over %q after %v", over, time.Since(started))
		}
		if _, over := l.reserve(t.Context(), 1<<10); over != WithinLimits {
			t.Errorf("large reviews use the memory of small ones: %q", over)
		}
		r.release()
		for _, r := range reserved[1:] {
			r.release()
		}
		if err := l.large.idle(); err != nil {
			t.Error(err)
		}
	})
}

func TestNodeShareOfMemory(t *testing.T) {
	l := newTestMemory()
	first, _ := l.reserve(t.Context(), testMaxBody)
	second, _ := l.reserve(t.Context(), 2<<10)
	if over := first.countAgainst("x"); over != WithinLimits {
		t.Fatalf("over %q", over)
	}
	if over := second.countAgainst("x"); over != NodeMemory {
		t.Errorf("above its share: over %q, want %q", over, NodeMemory)
	}
	if over := second.countAgainst("y"); over != WithinLimits {
		t.Errorf("another node: over %q", over)
	}
	// A second release must not free the memory of another review.
	first.release()
	first.release()
	if over := first.countAgainst("y"); over != WithinLimits {
		t.Errorf("after release: over %q", over)
	}
	second.release()
	if err := l.large.idle(); err != nil {
		t.Error(err)
	}
}

// A caller that disconnects while it waits reserves no memory.
func TestDisconnectedCallerReservesNoMemory(t *testing.T) {
	l := newTestMemory()
	if !l.large.all.TryAcquire(l.large.size) {
		t.Fatal("memory is reserved")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, over := l.reserve(ctx, testMaxBody); over != AllMemory {
		t.Errorf("over %q", over)
	}
	l.large.all.Release(l.large.size)
	if err := l.large.idle(); err != nil {
		t.Error(err)
	}
}
