// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"context"
	"hash/maphash"

	"golang.org/x/time/rate"
	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"
)

const (
	// userLineQPS and userLineBurst bound the lines about one user.
	userLineQPS   = 2
	userLineBurst = 20
	// lineQPS and lineBurst bound the lines about all users, who may be made up.
	lineQPS   = 20
	lineBurst = 200
	// lineBuckets is the number of buckets that users share. Two users in one
	// bucket only see fewer lines about them.
	lineBuckets = 256
	// maxQueued bounds the lines that wait to be written.
	maxQueued = 256
)

// lines is the way to the log. Standard error may be a pipe that nobody empties:
// the log waits for it then, and no decision does. What does not get through is
// counted.
type lines struct {
	clock    clock.PassiveClock
	unlogged *metrics.Counter
	seed     maphash.Seed
	users    [lineBuckets]*rate.Limiter
	all      *rate.Limiter
	queue    chan func()
}

func newLines(clock clock.PassiveClock, unlogged *metrics.Counter) *lines {
	l := &lines{
		clock:    clock,
		unlogged: unlogged,
		seed:     maphash.MakeSeed(),
		all:      rate.NewLimiter(lineQPS, lineBurst),
		queue:    make(chan func(), maxQueued),
	}
	for i := range l.users {
		l.users[i] = rate.NewLimiter(userLineQPS, userLineBurst)
	}
	return l
}

// bucket is the one that this user's lines are taken from.
func (l *lines) bucket(user string) *rate.Limiter {
	return l.users[maphash.String(l.seed, user)%lineBuckets]
}

// admit is true for as many refusals as may have a line.
func (l *lines) admit(user string) bool {
	now := l.clock.Now()
	if l.bucket(user).AllowN(now, 1) && l.all.AllowN(now, 1) {
		return true
	}
	l.unlogged.Inc()
	return false
}

// put has a line written, soon, unless too many wait already.
func (l *lines) put(write func()) {
	select {
	case l.queue <- write:
	default:
		l.unlogged.Inc()
	}
}

// run writes lines until ctx is done, and then those that wait.
func (l *lines) run(ctx context.Context) {
	for {
		select {
		case write := <-l.queue:
			write()
		case <-ctx.Done():
			l.drain()
			return
		}
	}
}

func (l *lines) drain() {
	for {
		select {
		case write := <-l.queue:
			write()
		default:
			return
		}
	}
}
