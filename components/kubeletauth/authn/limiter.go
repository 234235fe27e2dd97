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

// maxBuckets bounds the clients that have their own bucket.
const maxBuckets = 4096

// limiter is a rate limit for TokenReviews, for each client and for all clients together. It is
// safe for concurrent use.
type limiter[C comparable] struct {
	each Rate
	all  *rate.Limiter
	// tooMany is the message for a client over its limit. tooManyOfAll is the message if all
	// clients together are over the limit.
	tooMany, tooManyOfAll string

	mu       sync.Mutex
	order    *list.List // front: most recently used
	byClient map[C]*list.Element
	// others is the bucket that further clients share while all buckets are in use.
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

// dropLocked drops the least recently used bucket, if that bucket is full. A full bucket is equal
// to a new one, so no use of the limit is forgotten.
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
	b, _ := element.Value.(*bucket[C]) // the list contains only buckets
	return b
}

// ClientOf returns the client for limits, from the host:port of a connection. For IPv6 it is the
// /64, because a host usually has a whole /64. All invalid addresses are one client.
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
	client, _ := address.Prefix(bits) // cannot fail: bits is valid for the address
	return client
}
