// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"sync"
	"time"
)

// Limits bound the requests that are being decided at one time.
type Limits struct {
	// InFlight bounds the requests of all.
	InFlight int
	// InFlightPerNode bounds those of one node.
	InFlightPerNode int
}

// Excess says which bound a request is over.
type Excess string

// What a request can be over.
const (
	WithinLimits Excess = ""
	NodeInFlight Excess = "node-in-flight"
	AllInFlight  Excess = "all-in-flight"
	NodeMemory   Excess = "node-memory"
	AllMemory    Excess = "all-memory"
	TooLarge     Excess = "review-size"
)

// Text is what the caller is told, who is told more about a review's size.
func (e Excess) Text() string {
	switch e {
	case NodeInFlight:
		return "the node has too many requests in flight"
	case NodeMemory:
		return "the node's requests in flight are too large"
	case AllMemory:
		return "the requests in flight are too large"
	default:
		return "too many requests in flight"
	}
}

// places are taken by sending and given back by receiving.
type places chan struct{}

// Limiter hands out places: first of the node, then of all.
type Limiter struct {
	perNode  int
	patience time.Duration
	all      places

	mu sync.Mutex
	// nodes has an entry only while a request of that node has a place or waits for
	// one, so made-up names cannot fill it.
	nodes map[string]*share
}

// share is what one node may have.
type share struct {
	places
	// users have a place or wait for one. It is guarded by Limiter.mu.
	users int
}

// NewLimiter makes a limiter. Patience is how long a request waits for each of its
// two places.
func NewLimiter(limits Limits, patience time.Duration) *Limiter {
	return &Limiter{
		perNode: limits.InFlightPerNode, patience: patience,
		all: make(places, limits.InFlight), nodes: map[string]*share{},
	}
}

// Admit takes a place for one request of anybody. The place has to be given back
// with release if, and only if, the request is within its limits.
func (l *Limiter) Admit(ctx context.Context) (release func(), over Excess) {
	if !l.all.take(ctx, l.patience) {
		return nil, AllInFlight
	}
	return func() { <-l.all }, WithinLimits
}

// AdmitNode is Admit for a request of a node.
func (l *Limiter) AdmitNode(ctx context.Context, node string) (release func(), over Excess) {
	s := l.enter(node)
	if !s.take(ctx, l.patience) {
		l.leave(node, s)
		return nil, NodeInFlight
	}
	if !l.all.take(ctx, l.patience) {
		<-s.places
		l.leave(node, s)
		return nil, AllInFlight
	}
	return func() {
		<-l.all
		<-s.places
		l.leave(node, s)
	}, WithinLimits
}

// Held is the number of places that are taken, and of nodes that have one or wait
// for one. With nothing in flight both are 0.
func (l *Limiter) Held() (taken, nodes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all), len(l.nodes)
}

func (l *Limiter) enter(node string) *share {
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

func (l *Limiter) leave(node string, s *share) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(l.nodes, node)
	}
}

// take waits for a place, but not for long.
func (p places) take(ctx context.Context, patience time.Duration) bool {
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
