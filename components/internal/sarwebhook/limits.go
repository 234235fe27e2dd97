// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"context"
	"sync"
	"time"
)

// patience is how long a request waits for a place before it is denied. It is well
// below the 3 s after which kube-apiserver goes on without us.
const patience = time.Second

// Limits bound the requests that are being decided at one time.
//
// Whom a review names is not always who caused it: everybody who may create
// SubjectAccessReviews, and every node may, has kube-apiserver ask about whom it
// likes. So nothing is held against a name once its request is answered. A rate
// of the name could be used up by somebody else, and a table of names filled with
// made-up ones.
//
// Requests in flight could be aimed as well if those over the bound were denied at
// once: hundreds of decisions pile up for a moment whenever they all wait for the
// same lock. But a decision takes microseconds, so a place is free again before
// anybody notices, and whoever waits for one gets it. To keep a place from
// somebody for as long as requests wait takes a decision that does not come back,
// and that is what the bounds are for.
type Limits struct {
	// InFlight bounds the requests of all.
	InFlight int
	// InFlightPerNode bounds those of one node.
	InFlightPerNode int
}

// excess says which bound a request is over.
type excess string

const (
	withinLimits excess = ""
	nodeInFlight excess = "node-in-flight"
	allInFlight  excess = "all-in-flight"
	tooLarge     excess = "review-size"
)

// text is what the caller is told.
func (e excess) text() string {
	if e == nodeInFlight {
		return "the node has too many requests in flight"
	}
	return "too many requests in flight"
}

// places are taken by sending and given back by receiving.
type places chan struct{}

// limiter hands out places: first of the node, then of all.
type limiter struct {
	perNode int
	all     places

	mu sync.Mutex
	// nodes has an entry only while a request of that node has a place or waits for
	// one, so made-up names cannot fill it.
	nodes map[string]*share
}

// share is what one node may have.
type share struct {
	places
	// users have a place or wait for one. It is guarded by limiter.mu.
	users int
}

func newLimiter(limits Limits) *limiter {
	return &limiter{perNode: limits.InFlightPerNode, all: make(places, limits.InFlight), nodes: map[string]*share{}}
}

// admit takes a place for one request of anybody. The place has to be given back
// with release if, and only if, the request is within its limits.
func (l *limiter) admit(ctx context.Context) (release func(), over excess) {
	if !l.all.take(ctx) {
		return nil, allInFlight
	}
	return func() { <-l.all }, withinLimits
}

// admitNode is admit for a request of a node.
func (l *limiter) admitNode(ctx context.Context, node string) (release func(), over excess) {
	s := l.enter(node)
	if !s.take(ctx) {
		l.leave(node, s)
		return nil, nodeInFlight
	}
	if !l.all.take(ctx) {
		<-s.places
		l.leave(node, s)
		return nil, allInFlight
	}
	return func() {
		<-l.all
		<-s.places
		l.leave(node, s)
	}, withinLimits
}

func (l *limiter) enter(node string) *share {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.nodes[node]
	if s == nil {
		s = &share{places: make(places, l.perNode)}
		l.nodes[node] = s
	}
	s.users++
	return s
}

func (l *limiter) leave(node string, s *share) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(l.nodes, node)
	}
}

// take waits for a place, but not for long.
func (p places) take(ctx context.Context) bool {
	select {
	case p <- struct{}{}:
		return true
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case p <- struct{}{}:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}
