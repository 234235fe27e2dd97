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

// flight is one read that is shared by all callers that arrive before it begins.
type flight struct {
	read
	node      *node
	readQueue *readQueue
	// cancel ends a flight that has not begun, when no caller waits for it any more.
	cancel context.CancelFunc

	// callers and began are guarded by Reader.mu. After began is set, no caller can join.
	callers int
	began   time.Time

	// done is closed at the end of the flight. news and short are set before that.
	done  chan struct{}
	news  int
	short shortfall
}

// startLocked creates a flight that other callers can join. The end of ctx does not cancel the
// flight. A flight that has not begun is canceled when its last caller leaves.
func (r *Reader) startLocked(ctx context.Context, n *node, what read) *flight {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &flight{read: what, node: n, readQueue: n.queueOf(what), cancel: cancel, done: make(chan struct{})}
	f.readQueue.next[what] = f
	n.users++
	r.flights.Go(func() { r.fly(ctx, f) })
	return f
}

// fly waits for its turn among the reads of its node, then among the reads of all nodes. Then it
// reads.
func (r *Reader) fly(ctx context.Context, f *flight) {
	defer r.land(f)
	if f.readQueue.turn.Acquire(ctx, 1) != nil {
		return
	}
	defer f.readQueue.turn.Release(1)
	if !r.sleep(ctx, untilReady(f.readQueue.pace, r.clock.Now())) {
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

// depart waits in the queue of all nodes and takes an in-flight slot. Only the first flight in the
// queue checks the rate limit, and it spends its token when the read begins. So flights that give
// up in the queue spend nothing, even if there are many.
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

// untilReady returns the time until a token is available. The caller must make sure that no other
// flight spends the token in the meantime.
func untilReady(pace *rate.Limiter, now time.Time) time.Duration {
	reservation := pace.ReserveN(now, 1)
	defer reservation.CancelAt(now)
	return reservation.DelayFrom(now)
}

// sleep returns false if ctx ended first.
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

// begin closes the flight to new callers. It returns false if no caller waits for it.
func (r *Reader) begin(f *flight) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.callers == 0 {
		return false
	}
	f.began = r.clock.Now()
	f.readQueue.pace.ReserveN(f.began, 1)
	r.pace.ReserveN(f.began, 1)
	delete(f.readQueue.next, f.read)
	return true
}

// read reads from the API server and passes the result to the view. If the object does not exist,
// the read still succeeds: the view has nothing to add.
//
// A panic fails only this read.
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

// land ends the flight for all callers.
func (r *Reader) land(f *flight) {
	f.cancel()
	close(f.done)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.releaseLocked(f.node)
}
