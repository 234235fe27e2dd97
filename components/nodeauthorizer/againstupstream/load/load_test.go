// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// A call that waits does not keep others from beginning, and the wait of those that
// begin late counts.
func TestOpenLoopDoesNotWaitForAnswers(t *testing.T) {
	var inFlight, most atomic.Int64
	sample, err := OpenLoop(t.Context(), 1000, 200*time.Millisecond, func(context.Context, int) error {
		most.Store(max(most.Load(), inFlight.Add(1)))
		time.Sleep(50 * time.Millisecond)
		inFlight.Add(-1)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(sample) < 100 || len(sample) > 300 {
		t.Errorf("%d calls in a fifth of a second at 1,000 per second", len(sample))
	}
	if most.Load() < 10 || sample.Min() < 50_000 {
		t.Errorf("%d calls in flight at most, the shortest of %v µs", most.Load(), sample.Min())
	}
}

// Every caller asks again as soon as it is answered, and no sooner.
func TestClosedLoopAsksAgainWhenAnswered(t *testing.T) {
	var inFlight, most atomic.Int64
	sample, perSecond, err := ClosedLoop(t.Context(), 3, 100*time.Millisecond, func(context.Context, int) error {
		most.Store(max(most.Load(), inFlight.Add(1)))
		time.Sleep(5 * time.Millisecond)
		inFlight.Add(-1)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(sample) < 3 || most.Load() > 3 || sample.Min() < 5_000 || !(perSecond > 0 && perSecond < 1000) {
		t.Errorf("%d calls, %d in flight at most, the shortest of %v µs, %v a second", len(sample), most.Load(), sample.Min(), perSecond)
	}
}

func TestAnErrorOfACallIsTold(t *testing.T) {
	failed := errors.New("failed")
	if _, _, err := ClosedLoop(t.Context(), 2, time.Millisecond, func(context.Context, int) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("error %v", err)
	}
}
