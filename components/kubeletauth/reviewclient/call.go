// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package reviewclient

import (
	"context"
	"time"
)

// call is one review, for all callers with the same query.
type call[V any] struct {
	done   chan struct{}
	cancel context.CancelFunc
	began  time.Time
	// callers is the number of callers that wait for the answer. Client.mu guards it.
	callers int

	// value and err are set before done is closed.
	value V
	err   error
}

// within reports whether the call began within maxAge. maxAge 0 means any age.
func (f *call[V]) within(maxAge time.Duration) bool {
	return maxAge == 0 || time.Since(f.began) <= maxAge
}

// join joins the call of a query, or starts one. If the answer is already in the cache, it returns
// a finished call.
func (c *Client[V]) join(q Query[V]) (*call[V], error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// An older call finishes without this caller, and its answer is not cached.
	if f := c.calls[q.Key]; f != nil && f.within(q.MaxAge) {
		f.callers++
		c.metrics.shared.Inc()
		return f, nil
	}
	if value, ok := c.cache.young(q.Key, q.MaxAge); ok {
		c.metrics.cached.Inc()
		return finished(value), nil
	}
	if q.Admit != nil {
		if err := q.Admit(); err != nil {
			c.metrics.refused.Inc()
			return nil, err
		}
	}
	c.metrics.first.Inc()
	return c.startLocked(q), nil
}

// startLocked does not use the caller's context, because other callers may wait for the same answer
// for longer.
func (c *Client[V]) startLocked(q Query[V]) *call[V] {
	ctx, cancel := context.WithTimeout(context.Background(), reviewTimeout)
	f := &call[V]{done: make(chan struct{}), cancel: cancel, began: time.Now(), callers: 1}
	c.calls[q.Key] = f
	c.group.Go(func() {
		defer cancel()
		f.value, f.err = c.attempt(ctx, q)
		c.finish(q, f)
	})
	return f
}

// finish caches the answer. An error is not cached.
func (c *Client[V]) finish(q Query[V], f *call[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[q.Key] == f {
		delete(c.calls, q.Key)
		if f.err != nil || q.NoCache {
			c.cache.Remove(q.Key)
		} else {
			ttl, bytes := c.keep(f.value)
			c.cache.put(q.Key, f.value, bytes, ttl, f.began)
		}
	}
	close(f.done)
}

// leave cancels a call that has no callers left.
func (c *Client[V]) leave(key Key, f *call[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.callers--
	if f.callers == 0 && c.calls[key] == f {
		f.cancel()
		delete(c.calls, key)
	}
}

func finished[V any](value V) *call[V] {
	f := &call[V]{done: make(chan struct{}), callers: 1, value: value}
	close(f.done)
	return f
}

type maxAgeKey struct{}

// WithMaxAge returns a context that accepts a cached answer only if its review began within maxAge.
// A review in flight is shared on the same condition.
func WithMaxAge(ctx context.Context, maxAge time.Duration) context.Context {
	return context.WithValue(ctx, maxAgeKey{}, maxAge)
}

// MaxAgeOf returns the bound of [WithMaxAge], or 0 if there is none.
func MaxAgeOf(ctx context.Context) time.Duration {
	maxAge, _ := ctx.Value(maxAgeKey{}).(time.Duration)
	return maxAge
}
