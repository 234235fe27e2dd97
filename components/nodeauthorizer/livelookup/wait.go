// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package livelookup

import (
	"context"
	"slices"
	"time"
)

// perform has everything read that the view is made of. It tells when the first
// of the reads began and how much news there was, or why it could not be done.
func (r *Reader) perform(ctx context.Context, node string, reads []read) (began time.Time, news int, short shortfall) {
	reads = slices.DeleteFunc(reads, func(what read) bool { return !r.view.Watches(what.resource) })
	if len(reads) == 0 {
		return time.Time{}, 0, none
	}
	flights, missed := r.join(ctx, node, reads)
	if len(flights) == 0 {
		return time.Time{}, 0, missed
	}
	defer r.leave(flights)
	timer := r.clock.NewTimer(r.limits.Patience)
	defer timer.Stop()
	for _, f := range flights {
		select {
		case <-f.done:
		case <-timer.C():
			return time.Time{}, 0, r.late(f)
		case <-ctx.Done():
			return time.Time{}, 0, withdrawn
		}
		if f.short != none {
			return time.Time{}, 0, f.short
		}
		if began.IsZero() || f.began.Before(began) {
			began = f.began
		}
		news += f.news
	}
	return began, news, missed
}

// join takes a place in flights that have yet to begin, and starts those that are
// not there. A read for which too many wait is missed, and the others are not: the
// list of a node's pods alone may be what the question needs.
func (r *Reader) join(ctx context.Context, name string, reads []read) ([]*flight, shortfall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.nodeLocked(name)
	if n.waiting >= n.lists.most {
		return nil, nodeBudget
	}
	missed := none
	flights := make([]*flight, 0, len(reads))
	for _, what := range reads {
		lane := n.laneOf(what)
		if lane.waiting >= lane.most {
			missed = getBudget
			continue
		}
		f := lane.next[what]
		if f == nil {
			f = r.startLocked(ctx, n, what)
		}
		f.callers++
		lane.waiting++
		flights = append(flights, f)
	}
	if len(flights) == 0 {
		return nil, missed
	}
	n.waiting++
	n.users++
	r.metrics.waiting.Inc()
	return flights, missed
}

// leave gives the places back. A flight for which nobody waits any more does not
// begin; one that has begun is of use to those who ask next.
func (r *Reader) leave(flights []*flight) {
	r.metrics.waiting.Dec()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range flights {
		f.lane.waiting--
		f.callers--
		if f.callers == 0 && f.began.IsZero() {
			f.cancel()
			delete(f.lane.next, f.read)
		}
	}
	n := flights[0].node
	n.waiting--
	r.releaseLocked(n)
}

// late says what it was that took so long.
func (r *Reader) late(f *flight) shortfall {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.began.IsZero() {
		return noTurn
	}
	return noAnswer
}
