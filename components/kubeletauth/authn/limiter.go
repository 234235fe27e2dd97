// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"container/list"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxBuckets bounds the clients that are counted one by one.
const maxBuckets = 4096

// limiter hands out TokenReviews: to each client so many a second, and to all. It is
// safe for concurrent use.
type limiter[C comparable] struct {
	each Rate
	all  *rate.Limiter
	// tooMany and tooManyOfAll are what is said of a client, and of all, who have had
	// theirs.
	tooMany, tooManyOfAll string

	mu       sync.Mutex
	order    *list.List // front: used last
	byClient map[C]*list.Element
	// others is for clients who come when every bucket is in use.
	others *rate.Limiter
}

type bucket[C comparable] struct {
	client C
	tokens *rate.Limiter
}

func newLimiter[C comparable](each, all Rate) *limiter[C] {
	return &limiter[C]{
		each: each, all: all.limiter(), others: each.limiter(),
		order: list.New(), byClient: map[C]*list.Element{},
	}
}

func (r Rate) limiter() *rate.Limiter { return rate.NewLimiter(rate.Limit(r.PerSecond), r.Burst) }

// take takes one review, or returns a [*Denied] with code 429.
func (l *limiter[C]) take(client C) error {
	now := time.Now()
	own := l.bucketOf(client, now).ReserveN(now, 1)
	if wait := own.DelayFrom(now); wait > 0 {
		own.CancelAt(now)
		return limited(l.tooMany, wait, nil)
	}
	all := l.all.ReserveN(now, 1)
	if wait := all.DelayFrom(now); wait > 0 {
		all.CancelAt(now)
		own.CancelAt(now)
		return limited(l.tooManyOfAll, wait, nil)
	}
	return nil
}

func (l *limiter[C]) bucketOf(client C, now time.Time) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if element := l.byClient[client]; element != nil {
		l.order.MoveToFront(element)
		return bucketIn[C](element).tokens
	}
	if len(l.byClient) >= maxBuckets && !l.dropLocked(now) {
		return l.others
	}
	tokens := l.each.limiter()
	l.byClient[client] = l.order.PushFront(&bucket[C]{client: client, tokens: tokens})
	return tokens
}

// dropLocked drops the bucket that was used least recently, if it is full: then
// nothing is forgotten.
func (l *limiter[C]) dropLocked(now time.Time) bool {
	oldest := bucketIn[C](l.order.Back())
	if oldest.tokens.TokensAt(now) < float64(l.each.Burst) {
		return false
	}
	l.order.Remove(l.order.Back())
	delete(l.byClient, oldest.client)
	return true
}

func bucketIn[C comparable](element *list.Element) *bucket[C] {
	b, _ := element.Value.(*bucket[C]) // nothing else is put in
	return b
}

// ClientOf is who limits are for: the address of a connection, host:port. Of IPv6 it is
// the /64, which a host has to itself. What is no address is one client.
func ClientOf(remote string) netip.Prefix {
	port, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	address := port.Addr().Unmap().WithZone("")
	bits := 64
	if address.Is4() {
		bits = 32
	}
	client, _ := address.Prefix(bits) // fits
	return client
}
