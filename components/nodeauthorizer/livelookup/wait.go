// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package livelookup

import (
	"context"
	"slices"
	"time"
)

// perform does all reads that the view can use. It returns when the first read began and how many
// objects were newer than the view, or why the reads did not succeed.
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
	timer := r.clock.NewTimer(r.limits.QueueTimeout)
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

// join adds the caller to flights that have not begun, and starts the missing flights. If too many
// callers wait for a read, it skips that read and joins the others: the list of the node's pods may
// be enough for the question.
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
		readQueue := n.queueOf(what)
		if readQueue.waiting >= readQueue.most {
			missed = getBudget
			continue
		}
		f := readQueue.next[what]
		if f == nil {
			f = r.startLocked(ctx, n, what)
		}
		f.callers++
		readQueue.waiting++
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

// leave removes the caller from its flights. A flight without callers does not begin. A flight that
// has begun continues, because its result updates the view for later requests.
func (r *Reader) leave(flights []*flight) {
	r.metrics.waiting.Dec()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range flights {
		f.readQueue.waiting--
		f.callers--
		if f.callers == 0 && f.began.IsZero() {
			f.cancel()
			delete(f.readQueue.next, f.read)
		}
	}
	n := flights[0].node
	n.waiting--
	r.releaseLocked(n)
}

// late returns what took too long.
func (r *Reader) late(f *flight) shortfall {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.began.IsZero() {
		return noTurn
	}
	return noAnswer
}
