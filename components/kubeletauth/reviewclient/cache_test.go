// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package reviewclient

import (
	"testing"
	"testing/synctest"
	"time"
)

func keyFor(b byte) Key { return Key{b} }

func TestCacheForgetsWhenTheTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCache[string](10, 1<<20)
		c.Put(keyFor(1), "one", 3, time.Minute)
		time.Sleep(time.Minute - 1)
		if got, ok := c.Get(keyFor(1)); !ok || got != "one" {
			t.Errorf("got %q, %v just before the end", got, ok)
		}
		time.Sleep(time.Nanosecond)
		if got, ok := c.Get(keyFor(1)); ok {
			t.Errorf("got %q at the end", got)
		}
		if entries, bytes := c.Size(); entries+bytes != 0 {
			t.Errorf("%d entries, %d bytes are left", entries, bytes)
		}
	})
}

func TestCacheIsBounded(t *testing.T) {
	put := func(c *Cache[int], key byte, bytes int) { c.Put(keyFor(key), int(key), bytes, time.Hour) }
	has := func(c *Cache[int], key byte) bool { _, ok := c.Get(keyFor(key)); return ok }
	for _, row := range []struct {
		name           string
		entries, bytes int
		do             func(*Cache[int])
		held, gone     []byte
	}{
		{"in entries, least recently put first", 2, 1 << 20, func(c *Cache[int]) { put(c, 1, 0); put(c, 2, 0); put(c, 3, 0) },
			[]byte{2, 3}, []byte{1}},
		{"in entries, least recently used first", 2, 1 << 20,
			func(c *Cache[int]) { put(c, 1, 0); put(c, 2, 0); has(c, 1); put(c, 3, 0) }, []byte{1, 3}, []byte{2}},
		{"in bytes", 9, 2*entryBytes + 100, func(c *Cache[int]) { put(c, 1, 40); put(c, 2, 40); put(c, 3, 40) }, []byte{2, 3},
			[]byte{1}},
		{"in bytes, by several", 9, 3*entryBytes + 100,
			func(c *Cache[int]) { put(c, 1, 30); put(c, 2, 30); put(c, 3, 30); put(c, 4, 20+entryBytes) }, []byte{3, 4},
			[]byte{1, 2}},
		{"entry larger than the cache is not kept",
			9, entryBytes + 100, func(c *Cache[int]) { put(c, 1, 10); put(c, 2, 101) },
			[]byte{1}, []byte{2}},
		{"entry is dropped when its larger replacement does not fit", 9, entryBytes + 100,
			func(c *Cache[int]) { put(c, 1, 10); put(c, 1, 101) }, nil, []byte{1}},
		{"replaced entry counts once", 9, 2*entryBytes + 100,
			func(c *Cache[int]) { put(c, 1, 50); put(c, 1, 50); put(c, 2, 50) }, []byte{1, 2}, nil},
		{"removed entry does not count", 9, entryBytes + 100,
			func(c *Cache[int]) { put(c, 1, 50); c.Remove(keyFor(1)); put(c, 2, 100) }, []byte{2}, []byte{1}},
		{"entry with TTL 0 replaces the cached one", 9, 1 << 20,
			func(c *Cache[int]) { put(c, 1, 0); c.Put(keyFor(1), 1, 0, 0) }, nil, []byte{1}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := NewCache[int](row.entries, row.bytes)
			row.do(c)
			for _, key := range row.held {
				if !has(c, key) {
					t.Errorf("%d is gone", key)
				}
			}
			for _, key := range row.gone {
				if has(c, key) {
					t.Errorf("%d is held", key)
				}
			}
			if entries, bytes := c.Size(); entries != len(row.held) || entries > row.entries || bytes > row.bytes ||
				c.order.Len() != entries {
				t.Errorf("size is %d, %d bytes, %d in order", entries, bytes, c.order.Len())
			}
		})
	}
}
