// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package livelookup

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

// Limits are the budgets; none of them may be zero. The documentation of the
// package says how they are shared.
type Limits struct {
	// ListInterval is the least time from the beginning of one list of a node's pods
	// to that of the next.
	ListInterval time.Duration
	// Gets and GetBurst are the reads by name that a node may have begin in a
	// second, and at once.
	Gets     rate.Limit
	GetBurst int
	// Reads, ReadBurst and InFlight are the reads of all nodes: those that begin in
	// a second, at once, and those in the air.
	Reads     rate.Limit
	ReadBurst int
	InFlight  int
	// Strangers bounds those of InFlight, and those who wait for them, that are about
	// Node objects which the view does not have.
	Strangers int
	// Waiting bounds the callers of one node, and WaitingForGets those of them who
	// wait for a read by name.
	Waiting, WaitingForGets int
	// Patience is how long a caller waits, and ReadTimeout how long a read may take.
	Patience, ReadTimeout time.Duration
	// Hold is how long a question that was answered with nothing new is not asked
	// again, from when the read began. Held bounds the questions of which that is
	// kept.
	Hold time.Duration
	Held int
}

// DefaultLimits suit a cluster of 5,000 nodes: kubelets are right nearly always,
// so reads are few, and they are there for the moments when the watch is late.
func DefaultLimits() Limits {
	return Limits{
		ListInterval: 50 * time.Millisecond,
		Gets:         20, GetBurst: 40,
		Reads: 200, ReadBurst: 400, InFlight: 32,
		Strangers: 8,
		Waiting:   100, WaitingForGets: 50,
		Patience: time.Second, ReadTimeout: 900 * time.Millisecond,
		Hold: 250 * time.Millisecond, Held: 10_000,
	}
}
