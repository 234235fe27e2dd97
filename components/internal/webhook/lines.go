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
	// userLineQPS and UserLineBurst limit the lines about one user.
	userLineQPS = 2
	// UserLineBurst is the number of lines about one user that may be logged at once.
	UserLineBurst = 20
	// lineQPS and LineBurst limit the lines about all users together, because a caller can invent
	// users.
	lineQPS = 20
	// LineBurst is the number of lines about all users that may be logged at once.
	LineBurst = 200
	// lineBuckets is the number of rate limiters that users share. If two users share one, fewer
	// lines about them are logged. There is no other effect.
	lineBuckets = 256
	// MaxQueued bounds the lines that wait to be written.
	MaxQueued = 256
)

// Queue holds lines that wait to be written.
type Queue chan func()

// NewQueue creates a queue for all log lines of a process.
func NewQueue() Queue { return make(Queue, MaxQueued) }

// Run writes lines until ctx is done. Then it writes the lines that still wait, and returns.
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

// Lines writes log lines without blocking. Standard error may be a pipe that no process reads. Then
// the log blocks, but decisions continue. Lines that are dropped are counted.
type Lines struct {
	clock    clock.PassiveClock
	unlogged *metrics.Counter
	seed     maphash.Seed
	users    [lineBuckets]*rate.Limiter
	all      *rate.Limiter
	queue    Queue
}

// NewLines creates a Lines with its own rate limits. One Queue.Run writes the lines of all Lines
// with the same queue.
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

// bucket returns the rate limiter for lines about this user.
func (l *Lines) bucket(user string) *rate.Limiter {
	return l.users[maphash.String(l.seed, user)%lineBuckets]
}

// Admit reports whether a line about this user is within the rate limits.
func (l *Lines) Admit(user string) bool {
	now := l.clock.Now()
	if l.bucket(user).AllowN(now, 1) && l.all.AllowN(now, 1) {
		return true
	}
	l.unlogged.Inc()
	return false
}

// Put queues a line. If the queue is full, it drops the line.
func (l *Lines) Put(write func()) {
	select {
	case l.queue <- write:
	default:
		l.unlogged.Inc()
	}
}
