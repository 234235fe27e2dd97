// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package liveread

import (
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
)

// node is what is going on for one node. It is guarded by Reader.mu, except what
// guards itself. It exists only while somebody waits, a read is not over, or less
// is left of its budgets than could be.
type node struct {
	name string
	// users are the callers that wait and the flights that are not over.
	users   int
	waiting int
	// resting is true while a timer looks after it.
	resting     bool
	lists, gets lane
}

// lane is where the reads of one sort wait for each other, so that no node has
// more than one of a sort in the line of all nodes or in the air.
type lane struct {
	turn *semaphore.Weighted
	pace *rate.Limiter
	// waiting callers are at most so many.
	waiting, most int
	// next has the flights that have yet to begin.
	next map[read]*flight
}

func newLane(pace *rate.Limiter, most int) lane {
	return lane{turn: semaphore.NewWeighted(1), pace: pace, most: most, next: map[read]*flight{}}
}

func newNode(name string, limits Limits) *node {
	return &node{
		name:  name,
		lists: newLane(rate.NewLimiter(rate.Every(limits.ListInterval), 1), limits.Waiting),
		gets:  newLane(rate.NewLimiter(limits.Gets, limits.GetBurst), limits.WaitingForGets),
	}
}

func (n *node) laneOf(what read) *lane {
	if what.isList() {
		return &n.lists
	}
	return &n.gets
}

// untilFull is the time until nothing shows any more that there were reads.
func (n *node) untilFull(now time.Time) time.Duration {
	return max(n.lists.untilFull(now), n.gets.untilFull(now))
}

func (l *lane) untilFull(now time.Time) time.Duration {
	missing := float64(l.pace.Burst()) - l.pace.TokensAt(now)
	return time.Duration(missing / float64(l.pace.Limit()) * float64(time.Second))
}

// nodeLocked finds the node or makes it.
func (r *Reader) nodeLocked(name string) *node {
	n := r.nodes[name]
	if n == nil {
		n = newNode(name, r.limits)
		r.nodes[name] = n
	}
	return n
}

// releaseLocked takes back one user.
func (r *Reader) releaseLocked(n *node) {
	n.users--
	r.forgetLocked(n)
}

// forgetLocked drops the node if nothing is left of it, or looks again when that
// may be so.
func (r *Reader) forgetLocked(n *node) {
	if n.users > 0 || n.resting || r.nodes[n.name] != n {
		return
	}
	wait := n.untilFull(r.clock.Now())
	if wait <= 0 {
		delete(r.nodes, n.name)
		return
	}
	n.resting = true
	// Not in the timer's own call: a clock may make it with a lock held that it
	// needs to tell the time.
	r.clock.AfterFunc(wait, func() { go r.rested(n) })
}

func (r *Reader) rested(n *node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n.resting = false
	r.forgetLocked(n)
}
