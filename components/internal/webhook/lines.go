// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"hash/maphash"

	"golang.org/x/time/rate"
	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"
)

const (
	// userLineQPS and UserLineBurst bound the lines about one user.
	userLineQPS = 2
	// UserLineBurst is how many there may be at once.
	UserLineBurst = 20
	// lineQPS and LineBurst bound the lines about all users, who may be made up.
	lineQPS = 20
	// LineBurst is how many there may be at once.
	LineBurst = 200
	// lineBuckets is the number of buckets that users share. Two users in one
	// bucket only see fewer lines about them.
	lineBuckets = 256
	// MaxQueued bounds the lines that wait to be written.
	MaxQueued = 256
)

// Queue holds lines that wait to be written.
type Queue chan func()

// NewQueue makes a queue for all the lines of a process.
func NewQueue() Queue { return make(Queue, MaxQueued) }

// Run writes lines until ctx is done, and then those that wait.
func (q Queue) Run(ctx context.Context) {
	for {
		select {
		case write := <-q:
			write()
		case <-ctx.Done():
			q.Drain()
			return
		}
	}
}

// Drain writes the lines that wait.
func (q Queue) Drain() {
	for {
		select {
		case write := <-q:
			write()
		default:
			return
		}
	}
}

// Lines is the way to the log. Standard error may be a pipe that nobody empties:
// the log waits for it then, and no decision does. What does not get through is
// counted.
type Lines struct {
	clock    clock.PassiveClock
	unlogged *metrics.Counter
	seed     maphash.Seed
	users    [lineBuckets]*rate.Limiter
	all      *rate.Limiter
	queue    Queue
}

// NewLines makes a way to the log with bounds of its own. Those with the same
// queue are written by one run.
func NewLines(clock clock.PassiveClock, unlogged *metrics.Counter, queue Queue) *Lines {
	l := &Lines{
		clock:    clock,
		unlogged: unlogged,
		seed:     maphash.MakeSeed(),
		all:      rate.NewLimiter(lineQPS, LineBurst),
		queue:    queue,
	}
	for i := range l.users {
		l.users[i] = rate.NewLimiter(userLineQPS, UserLineBurst)
	}
	return l
}

// bucket is the one that this user's lines are taken from.
func (l *Lines) bucket(user string) *rate.Limiter {
	return l.users[maphash.String(l.seed, user)%lineBuckets]
}

// Admit is true for as many requests as may have a line.
func (l *Lines) Admit(user string) bool {
	now := l.clock.Now()
	if l.bucket(user).AllowN(now, 1) && l.all.AllowN(now, 1) {
		return true
	}
	l.unlogged.Inc()
	return false
}

// Put has a line written, soon, unless too many wait already.
func (l *Lines) Put(write func()) {
	select {
	case l.queue <- write:
	default:
		l.unlogged.Inc()
	}
}
