// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package livelookup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// flight is one read for all who ask before it begins.
type flight struct {
	read
	node *node
	lane *lane
	// cancel ends a flight that has yet to begin, because nobody waits for it.
	cancel context.CancelFunc

	// callers and began are guarded by Reader.mu. It began when it can be joined no
	// more.
	callers int
	began   time.Time

	// done is closed when it is over; news and short are set before.
	done  chan struct{}
	news  int
	short shortfall
}

// startLocked makes a flight that others can join. It outlives the caller that it
// is started for, but not all who wait for it, unless it has begun.
func (r *Reader) startLocked(ctx context.Context, n *node, what read) *flight {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &flight{read: what, node: n, lane: n.laneOf(what), cancel: cancel, done: make(chan struct{})}
	f.lane.next[what] = f
	n.users++
	r.flights.Go(func() { r.fly(ctx, f) })
	return f
}

// fly waits for its turn among the reads of its node, then among those of all,
// and reads.
func (r *Reader) fly(ctx context.Context, f *flight) {
	defer r.land(f)
	if f.lane.turn.Acquire(ctx, 1) != nil {
		return
	}
	defer f.lane.turn.Release(1)
	if !r.sleep(ctx, untilReady(f.lane.pace, r.clock.Now())) {
		return
	}
	if f.ofStranger() {
		if r.strangers.Acquire(ctx, 1) != nil {
			return
		}
		defer r.strangers.Release(1)
	}
	if !r.depart(ctx, f) {
		return
	}
	defer r.inFlight.Release(1)
	f.news, f.short = r.read(ctx, f)
}

// depart waits in the line of all nodes and takes a place among the reads in the
// air. Only who is first in the line looks at the budget, and what it found is
// spent when the read begins: so those who give up in the line cost nothing, even
// if they are many.
func (r *Reader) depart(ctx context.Context, f *flight) bool {
	if r.line.Acquire(ctx, 1) != nil {
		return false
	}
	defer r.line.Release(1)
	if r.inFlight.Acquire(ctx, 1) != nil {
		return false
	}
	if r.sleep(ctx, untilReady(r.pace, r.clock.Now())) && r.begin(f) {
		return true
	}
	r.inFlight.Release(1)
	return false
}

// untilReady is the time until there is something to spend. Nobody else may spend
// it meanwhile.
func untilReady(pace *rate.Limiter, now time.Time) time.Duration {
	reservation := pace.ReserveN(now, 1)
	defer reservation.CancelAt(now)
	return reservation.DelayFrom(now)
}

// sleep is false if ctx ended first.
func (r *Reader) sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := r.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}

// begin closes the flight to those who have yet to ask. It is false if nobody
// waits for it.
func (r *Reader) begin(f *flight) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.callers == 0 {
		return false
	}
	f.began = r.clock.Now()
	f.lane.pace.ReserveN(f.began, 1)
	r.pace.ReserveN(f.began, 1)
	delete(f.lane.next, f.read)
	return true
}

// read asks the API server and tells the view. That there is no such object is an
// answer: the view has nothing to learn then.
//
// A panic is this read's failure and nobody else's.
func (r *Reader) read(ctx context.Context, f *flight) (news int, short shortfall) {
	defer func() {
		if cause := recover(); cause != nil {
			news, short = 0, failed
			r.complaints.about(ctx, f.resource, fmt.Errorf("panic: %v", cause))
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, r.limits.ReadTimeout)
	defer cancel()
	start := time.Now()
	news, err := f.call(ctx, r.client, r.view, f.node.name)
	took := time.Since(start)
	switch {
	case err == nil:
	case errors.Is(err, errFold):
		short = incomparable
	case errors.Is(err, errTooMany):
		short = tooMany
	case apierrors.IsNotFound(err) && !f.isList():
		r.metrics.read(f.resource, "not-found", took)
		return 0, none
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded):
		short = noAnswer
	default:
		short = failed
	}
	r.metrics.read(f.resource, short.outcome(), took)
	if short != none {
		r.complaints.about(ctx, f.resource, err)
		return 0, short
	}
	if news > 0 {
		r.metrics.found.WithLabelValues(f.resource).Inc()
	}
	return news, none
}

// land ends the flight for everybody.
func (r *Reader) land(f *flight) {
	f.cancel()
	close(f.done)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.releaseLocked(f.node)
}
