// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package livelookup

import (
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
)

// node is the state of the reads for one node. Reader.mu guards it, except for the fields that are
// safe for concurrent use themselves. It is removed when no caller waits, all reads have ended and
// its rate limits have recovered fully.
type node struct {
	name string
	// users counts the waiting callers and the flights that have not ended.
	users   int
	waiting int
	// resting is true while a timer is set that will check again.
	resting     bool
	lists, gets readQueue
}

// readQueue is the queue for one sort of reads of one node: lists or reads by name. So each node has at
// most one read of each sort in the queue of all nodes or in flight.
type readQueue struct {
	turn *semaphore.Weighted
	pace *rate.Limiter
	// waiting is the number of callers that wait; most is its limit.
	waiting, most int
	// next has the flights that have not begun.
	next map[read]*flight
}

func newReadQueue(pace *rate.Limiter, most int) readQueue {
	return readQueue{turn: semaphore.NewWeighted(1), pace: pace, most: most, next: map[read]*flight{}}
}

func newNode(name string, limits Limits) *node {
	return &node{
		name:  name,
		lists: newReadQueue(rate.NewLimiter(rate.Every(limits.ListInterval), 1), limits.Waiting),
		gets:  newReadQueue(rate.NewLimiter(limits.Gets, limits.GetBurst), limits.WaitingForGets),
	}
}

func (n *node) queueOf(what read) *readQueue {
	if what.isList() {
		return &n.lists
	}
	return &n.gets
}

// untilFull is the time until both rate limits have recovered fully.
func (n *node) untilFull(now time.Time) time.Duration {
	return max(n.lists.untilFull(now), n.gets.untilFull(now))
}

func (l *readQueue) untilFull(now time.Time) time.Duration {
	missing := float64(l.pace.Burst()) - l.pace.TokensAt(now)
	return time.Duration(missing / float64(l.pace.Limit()) * float64(time.Second))
}

// nodeLocked returns the node, and creates it if needed.
func (r *Reader) nodeLocked(name string) *node {
	n := r.nodes[name]
	if n == nil {
		n = newNode(name, r.limits)
		r.nodes[name] = n
	}
	return n
}

// releaseLocked removes one user of the node.
func (r *Reader) releaseLocked(n *node) {
	n.users--
	r.forgetLocked(n)
}

// forgetLocked removes the node if nothing uses it and its rate limits have recovered. If only the
// rate limits are missing, it sets a timer to check again.
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
	// The timer must not call rested directly. A clock may call the function while it holds a lock,
	// and rested needs that lock to read the time.
	r.clock.AfterFunc(wait, func() { go r.rested(n) })
}

func (r *Reader) rested(n *node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n.resting = false
	r.forgetLocked(n)
}

// Limits are the budgets of a [Reader]. None of them may be zero. The package documentation says
// how callers share them.
type Limits struct {
	// ListInterval is the minimum time between the starts of two lists of a node's pods.
	ListInterval time.Duration
	// Gets is how many reads by name may begin in a second for one node. GetBurst is how many may
	// begin at once.
	Gets     rate.Limit
	GetBurst int
	// Reads, ReadBurst and InFlight limit the reads of all nodes: how many begin in a second, how
	// many begin at once, and how many are in flight.
	Reads     rate.Limit
	ReadBurst int
	InFlight  int
	// Strangers limits the reads of Node objects that the view does not have. It counts those in
	// flight and those that wait for an in-flight slot.
	Strangers int
	// Waiting limits the waiting callers of one node. WaitingForGets limits those of them that wait
	// for a read by name.
	Waiting, WaitingForGets int
	// QueueTimeout is how long a caller waits at most. ReadTimeout is how long a read may take.
	QueueTimeout, ReadTimeout time.Duration
	// NegativeCacheTTL is how long a question is not read again after a read returned nothing new, from the
	// start of that read. NegativeCacheSize is the maximum number of such questions in memory.
	NegativeCacheTTL  time.Duration
	NegativeCacheSize int
}

// DefaultLimits are for a cluster of 5,000 nodes. Kubelets rarely request an object that is not
// related to them. So live reads are rare: they are needed only when the watch lags behind.
func DefaultLimits() Limits {
	return Limits{
		ListInterval: 50 * time.Millisecond,
		Gets:         20, GetBurst: 40,
		Reads: 200, ReadBurst: 400, InFlight: 32,
		Strangers: 8,
		Waiting:   100, WaitingForGets: 50,
		QueueTimeout: time.Second, ReadTimeout: 900 * time.Millisecond,
		NegativeCacheTTL: 250 * time.Millisecond, NegativeCacheSize: 10_000,
	}
}
