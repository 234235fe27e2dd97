// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package reviewclient

import (
	"container/list"
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Key identifies a query. Queries with the same key are equal. It is a hash: it has a fixed size,
// and a caller cannot force a collision.
type Key [sha256.Size]byte

// entryBytes estimates the memory of an entry without its value: key, links and map.
const entryBytes = 200

// Cache keeps values until they expire. When it is full, it drops the least recently used value. It
// is safe for concurrent use. Create one with [NewCache].
//
// LRUExpireCache of k8s.io/apimachinery bounds only the number of entries. The API server chooses
// the size of an answer. There may be thousands of users with thousands of groups each, so the
// cache needs a bound in bytes.
type Cache[V any] struct {
	entries, bytes int

	mu    sync.Mutex
	order *list.List // front: most recently used
	byKey map[Key]*list.Element
	size  int
}

type entry[V any] struct {
	key   Key
	value V
	bytes int
	// asked is when the review began.
	asked, until time.Time
}

// NewCache creates a cache that holds at most entries values, of about bytes together.
func NewCache[V any](entries, bytes int) *Cache[V] {
	return &Cache[V]{entries: entries, bytes: bytes, order: list.New(), byKey: map[Key]*list.Element{}}
}

// Get returns a value that has not expired.
func (c *Cache[V]) Get(key Key) (V, bool) { return c.young(key, 0) }

// young returns a value that has not expired and whose review began within maxAge. maxAge 0 means
// any age.
func (c *Cache[V]) young(key Key, maxAge time.Duration) (V, bool) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	var none V
	element := c.byKey[key]
	if element == nil {
		return none, false
	}
	found := valueOf[V](element)
	if !now.Before(found.until) {
		c.removeLocked(element)
		return none, false
	}
	if maxAge > 0 && now.Sub(found.asked) > maxAge {
		return none, false
	}
	c.order.MoveToFront(element)
	return found.value, true
}

// Put stores a value of the given size for ttl. It does not store a value with ttl 0, or one that
// is too large, but still removes the previous value.
func (c *Cache[V]) Put(key Key, value V, bytes int, ttl time.Duration) {
	c.put(key, value, bytes, ttl, time.Now())
}

func (c *Cache[V]) put(key Key, value V, bytes int, ttl time.Duration, asked time.Time) {
	bytes += entryBytes
	until := time.Now().Add(ttl)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeLocked(c.byKey[key])
	if ttl <= 0 || bytes > c.bytes {
		return
	}
	c.byKey[key] = c.order.PushFront(&entry[V]{key: key, value: value, bytes: bytes, asked: asked, until: until})
	c.size += bytes
	for len(c.byKey) > c.entries || c.size > c.bytes {
		c.removeLocked(c.order.Back())
	}
}

// Remove drops a value.
func (c *Cache[V]) Remove(key Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeLocked(c.byKey[key])
}

// Size counts all values, including expired ones.
func (c *Cache[V]) Size() (entries, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.byKey), c.size
}

func (c *Cache[V]) removeLocked(element *list.Element) {
	if element == nil {
		return
	}
	found := valueOf[V](element)
	c.order.Remove(element)
	delete(c.byKey, found.key)
	c.size -= found.bytes
}

func valueOf[V any](element *list.Element) *entry[V] {
	found, _ := element.Value.(*entry[V]) // the list contains only entries
	return found
}

// ErrBusy is the error when the queue of reviews is full.
var ErrBusy = errors.New("too many reviews wait for the API server")

// queue bounds the reviews in flight, and those that wait for a slot.
type queue struct {
	slots   chan struct{}
	waiting atomic.Int64
	most    int64
}

func newQueue(inFlight, waiting int) *queue {
	return &queue{slots: make(chan struct{}, inFlight), most: int64(waiting)}
}

// enter waits for a slot. If the error is nil, the caller must call leave. The error is [ErrBusy],
// or that of ctx.
func (q *queue) enter(ctx context.Context) (leave func(), err error) {
	select {
	case q.slots <- struct{}{}:
		return q.leave, nil
	default:
	}
	defer q.waiting.Add(-1)
	if q.waiting.Add(1) > q.most {
		return nil, ErrBusy
	}
	select {
	case q.slots <- struct{}{}:
		return q.leave, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (q *queue) leave() { <-q.slots }
