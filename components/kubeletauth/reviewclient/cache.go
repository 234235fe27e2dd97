// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package reviewclient

import (
	"container/list"
	"crypto/sha256"
	"sync"
	"time"
)

// Key names a question: who has the same key has the same question. It is a hash,
// so that what callers send takes no room and two of them cannot be made to meet.
type Key [sha256.Size]byte

// entryBytes is about what an entry costs beside its value: key, links and table.
const entryBytes = 200

// Cache holds values until their time is over, and the least recently used ones only
// while there is room. It is safe for concurrent use. Use [NewCache].
type Cache[V any] struct {
	entries, bytes int

	mu    sync.Mutex
	order *list.List // front: used last
	byKey map[Key]*list.Element
	size  int
}

type entry[V any] struct {
	key   Key
	value V
	bytes int
	// asked is when the question behind the value was asked.
	asked, until time.Time
}

// NewCache makes a cache of at most so many entries, which take at most about so
// many bytes.
func NewCache[V any](entries, bytes int) *Cache[V] {
	return &Cache[V]{entries: entries, bytes: bytes, order: list.New(), byKey: map[Key]*list.Element{}}
}

// Get finds a value whose time is not over.
func (c *Cache[V]) Get(key Key) (V, bool) { return c.young(key, 0) }

// young finds a value whose time is not over and which was asked for within maxAge; 0
// means any age.
func (c *Cache[V]) young(key Key, maxAge time.Duration) (V, bool) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	var none V
	element := c.byKey[key]
	if element == nil {
		return none, false
	}
	held := valueOf[V](element)
	if !now.Before(held.until) {
		c.removeLocked(element)
		return none, false
	}
	if maxAge > 0 && now.Sub(held.asked) > maxAge {
		return none, false
	}
	c.order.MoveToFront(element)
	return held.value, true
}

// Put holds a value of so many bytes for a time. A value that may not be held, or is
// too large to be, takes the place of the last one all the same.
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

// Remove forgets a value.
func (c *Cache[V]) Remove(key Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeLocked(c.byKey[key])
}

// Size is what is held, with values whose time is over.
func (c *Cache[V]) Size() (entries, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.byKey), c.size
}

func (c *Cache[V]) removeLocked(element *list.Element) {
	if element == nil {
		return
	}
	held := valueOf[V](element)
	c.order.Remove(element)
	delete(c.byKey, held.key)
	c.size -= held.bytes
}

func valueOf[V any](element *list.Element) *entry[V] {
	held, _ := element.Value.(*entry[V]) // nothing else is put in
	return held
}
