// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"sync"
	"time"
)

// Limits bound the requests that are decided at one time.
type Limits struct {
	// InFlight bounds all requests.
	InFlight int
	// InFlightPerNode bounds the requests of one node.
	InFlightPerNode int
}

// Excess names the limit that a request exceeds.
type Excess string

// The limits that a request can exceed.
const (
	WithinLimits Excess = ""
	NodeInFlight Excess = "node-in-flight"
	AllInFlight  Excess = "all-in-flight"
	NodeMemory   Excess = "node-memory"
	AllMemory    Excess = "all-memory"
	TooLarge     Excess = "review-size"
)

// Text returns the message for the caller. For TooLarge, the caller of Text adds details.
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

// places is a semaphore: a send takes a place, a receive returns it.
type places chan struct{}

// Limiter limits requests in flight: first those of the node, then all requests.
type Limiter struct {
	perNode      int
	queueTimeout time.Duration
	all          places

	mu sync.Mutex
	// nodes has an entry only while a request of that node has a place or waits for one. So
	// invented names cannot fill it.
	nodes map[string]*share
}

// share is the places of one node.
type share struct {
	places
	// users is the number of requests that have a place or wait for one. Limiter.mu guards it.
	users int
}

// NewLimiter creates a limiter. queueTimeout is how long a request waits for each of its two places.
func NewLimiter(limits Limits, queueTimeout time.Duration) *Limiter {
	return &Limiter{
		perNode: limits.InFlightPerNode, queueTimeout: queueTimeout,
		all: make(places, limits.InFlight), nodes: map[string]*share{},
	}
}

// Admit takes a place for one request of any user. The caller must call release if, and only if,
// over is WithinLimits.
func (l *Limiter) Admit(ctx context.Context) (release func(), over Excess) {
	if !l.all.take(ctx, l.queueTimeout) {
		return nil, AllInFlight
	}
	return func() { <-l.all }, WithinLimits
}

// AdmitNode takes a place of the node and a place among all requests. Otherwise it is like Admit.
func (l *Limiter) AdmitNode(ctx context.Context, node string) (release func(), over Excess) {
	s := l.enter(node)
	if !s.take(ctx, l.queueTimeout) {
		l.leave(node, s)
		return nil, NodeInFlight
	}
	if !l.all.take(ctx, l.queueTimeout) {
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

// Held returns the number of places that are taken, and the number of nodes that have a place or
// wait for one. With no request in flight, both are 0.
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

// take waits at most queueTimeout for a place.
func (p places) take(ctx context.Context, queueTimeout time.Duration) bool {
	select {
	case p <- struct{}{}:
		return true
	default:
	}
	timer := time.NewTimer(queueTimeout)
	defer timer.Stop()
	select {
	case p <- struct{}{}:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}
