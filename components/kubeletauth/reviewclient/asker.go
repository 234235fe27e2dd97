// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package reviewclient

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
)

// longest is how long one question is asked, with all that is asked again: five
// attempts wait up to 4.9 s for each other.
const longest = 10 * time.Second

// Config is what an [Asker] needs.
type Config[V any] struct {
	// Name is a part of the names of the metrics: token, access.
	Name string
	// Keep tells for how long an answer may be held, and about how many bytes it has.
	Keep func(V) (ttl time.Duration, bytes int)
	// Entries and Bytes bound the answers that are held.
	Entries, Bytes int
	// InFlight bounds the reviews in the air, and Waiting those that wait for them.
	// Trusted ones are bounded apart from the others, each kind by these.
	InFlight, Waiting int
	Registry          metrics.KubeRegistry
}

// Asker answers questions. It is safe for concurrent use. Use [New].
type Asker[V any] struct {
	keep    func(V) (time.Duration, int)
	gates   map[bool]*gate // by whether a question is trusted
	metrics *recorder
	cache   *Cache[V]

	group   sync.WaitGroup
	mu      sync.Mutex
	flights map[Key]*flight[V]
}

// New makes an asker. It asks nobody.
func New[V any](config Config[V]) *Asker[V] {
	a := &Asker[V]{
		keep:    config.Keep,
		gates:   map[bool]*gate{},
		cache:   NewCache[V](config.Entries, config.Bytes),
		flights: map[Key]*flight[V]{},
	}
	for _, trusted := range []bool{true, false} {
		a.gates[trusted] = newGate(config.InFlight, config.Waiting)
	}
	a.metrics = newRecorder(config.Name, config.Registry, gauges{
		inFlight: func() float64 { return float64(len(a.gates[true].places) + len(a.gates[false].places)) },
		waiting:  func() float64 { return float64(a.gates[true].waiting.Load() + a.gates[false].waiting.Load()) },
		entries:  func() float64 { entries, _ := a.cache.Size(); return float64(entries) },
		bytes:    func() float64 { _, bytes := a.cache.Size(); return float64(bytes) },
	})
	return a
}

// Question is what an asker asks where it holds no answer.
type Question[V any] struct {
	Key Key
	// Ask makes one review. Its error is that of the API server, or of the way to it.
	Ask func(context.Context) (V, error)
	// Admit may forbid a review with an error. It is asked for each attempt, and not
	// for those who share the answer. It must not wait, nor call the asker.
	Admit func() error
	// Trusted has the review not wait for those of questions that are not.
	Trusted bool
	// Unheld has the answer not held.
	Unheld bool
	// MaxAge, if not 0, accepts no answer from the cache that was asked for longer ago.
	MaxAge time.Duration
}

// Held finds an answer that is held and was asked for within maxAge; 0 means any age.
// It does not allocate.
func (a *Asker[V]) Held(key Key, maxAge time.Duration) (V, bool) {
	value, ok := a.cache.young(key, maxAge)
	if ok {
		a.metrics.cached.Inc()
	}
	return value, ok
}

// Answer has a question that is not [Asker.Held] answered. Errors are those of Admit,
// [ErrBusy], those of the API server and that of ctx.
func (a *Asker[V]) Answer(ctx context.Context, q Question[V]) (V, error) {
	f, err := a.board(q)
	if err != nil {
		var none V
		return none, err
	}
	defer a.leave(q.Key, f)
	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	}
}

// Wait returns when no review is in the air. Nothing may be asked any more.
func (a *Asker[V]) Wait() { a.group.Wait() }

// attempt asks until there is an answer, an error that it is of no use to ask after
// again, or nobody who waits.
func (a *Asker[V]) attempt(ctx context.Context, q Question[V]) (value V, err error) {
	// No caller is there to recover: one bad answer must not end the program.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("asking the API server panicked: %v", r)
		}
	}()
	// At high verbosity client-go logs bodies, and tokens are in them.
	ctx = klog.NewContext(ctx, logr.Discard())
	again := func() bool { return q.Admit == nil || q.Admit() == nil }
	err = retry(ctx, again, func() error {
		leave, err := a.gates[q.Trusted].enter(ctx)
		if err != nil {
			a.metrics.busy.Inc()
			return err
		}
		defer leave()
		start := time.Now()
		value, err = q.Ask(ctx)
		a.metrics.asked(err, time.Since(start))
		return err
	})
	return value, err
}
