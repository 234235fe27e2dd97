// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package reviewclient

import (
	"context"
	"time"
)

// flight is one question that is being asked, for all who have it.
type flight[V any] struct {
	done   chan struct{}
	cancel context.CancelFunc
	began  time.Time
	// callers wait for the answer. It is guarded by Asker.mu.
	callers int

	// value and err are set before done is closed.
	value V
	err   error
}

// within says that the flight began within maxAge; 0 means any age.
func (f *flight[V]) within(maxAge time.Duration) bool {
	return maxAge == 0 || time.Since(f.began) <= maxAge
}

// board joins the flight of a question, or starts one. The answer may have come just
// now: then the flight is over.
func (a *Asker[V]) board(q Question[V]) (*flight[V], error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	// One that is too old ends without this caller, and holds no answer any more.
	if f := a.flights[q.Key]; f != nil && f.within(q.MaxAge) {
		f.callers++
		a.metrics.shared.Inc()
		return f, nil
	}
	if value, ok := a.cache.young(q.Key, q.MaxAge); ok {
		a.metrics.cached.Inc()
		return landed(value), nil
	}
	if q.Admit != nil {
		if err := q.Admit(); err != nil {
			a.metrics.refused.Inc()
			return nil, err
		}
	}
	a.metrics.first.Inc()
	return a.startLocked(q), nil
}

// startLocked does not take the caller's context: others may come to wait for the
// same answer, with more time.
func (a *Asker[V]) startLocked(q Question[V]) *flight[V] {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	f := &flight[V]{done: make(chan struct{}), cancel: cancel, began: time.Now(), callers: 1}
	a.flights[q.Key] = f
	a.group.Go(func() {
		defer cancel()
		f.value, f.err = a.attempt(ctx, q)
		a.land(q, f)
	})
	return f
}

// land holds the answer. What failed is not held.
func (a *Asker[V]) land(q Question[V], f *flight[V]) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.flights[q.Key] == f {
		delete(a.flights, q.Key)
		if f.err != nil || q.Unheld {
			a.cache.Remove(q.Key)
		} else {
			ttl, bytes := a.keep(f.value)
			a.cache.put(q.Key, f.value, bytes, ttl, f.began)
		}
	}
	close(f.done)
}

// leave ends a flight for which nobody waits any more.
func (a *Asker[V]) leave(key Key, f *flight[V]) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f.callers--
	if f.callers == 0 && a.flights[key] == f {
		f.cancel()
		delete(a.flights, key)
	}
}

func landed[V any](value V) *flight[V] {
	f := &flight[V]{done: make(chan struct{}), callers: 1, value: value}
	close(f.done)
	return f
}
