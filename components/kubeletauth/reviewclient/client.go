// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package reviewclient

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
)

// reviewTimeout bounds a review with its retries. The waits between five attempts are up to 4.9 s
// in total.
const reviewTimeout = 10 * time.Second

// backoff is the kubelet's backoff (k8s.io/apiserver/pkg/server/options
// DefaultAuthWebhookRetryBackoff). That package, and k8s.io/apiserver/pkg/util/webhook with
// WithExponentialBackoff, would link gRPC, OpenTelemetry and konnectivity.
var backoff = wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 5}

// Config is the configuration of a [Client].
type Config[V any] struct {
	// Name is part of the metric names, for example token or access.
	Name string
	// Keep returns the time for which an answer may be cached, and its size in bytes.
	Keep func(V) (ttl time.Duration, bytes int)
	// Entries and Bytes bound the cache.
	Entries, Bytes int
	// InFlight bounds the reviews in flight, and Waiting those that wait for a slot. Trusted
	// reviews have separate slots, with the same limits.
	InFlight, Waiting int
	Registry          metrics.KubeRegistry
}

// Client makes reviews. It is safe for concurrent use. Create one with [New].
type Client[V any] struct {
	keep    func(V) (time.Duration, int)
	queues  map[bool]*queue // by Query.Trusted
	metrics *recorder
	cache   *Cache[V]

	group sync.WaitGroup
	mu    sync.Mutex
	calls map[Key]*call[V]
}

// New registers the metrics. It makes no review.
func New[V any](config Config[V]) *Client[V] {
	c := &Client[V]{
		keep:   config.Keep,
		queues: map[bool]*queue{},
		cache:  NewCache[V](config.Entries, config.Bytes),
		calls:  map[Key]*call[V]{},
	}
	for _, trusted := range []bool{true, false} {
		c.queues[trusted] = newQueue(config.InFlight, config.Waiting)
	}
	c.metrics = newRecorder(config.Name, config.Registry, gauges{
		inFlight: func() float64 { return float64(len(c.queues[true].slots) + len(c.queues[false].slots)) },
		waiting:  func() float64 { return float64(c.queues[true].waiting.Load() + c.queues[false].waiting.Load()) },
		entries:  func() float64 { entries, _ := c.cache.Size(); return float64(entries) },
		bytes:    func() float64 { _, bytes := c.cache.Size(); return float64(bytes) },
	})
	return c
}

// Query is one review with its options.
type Query[V any] struct {
	Key Key
	// Ask makes one review. Its error comes from the API server, or from the connection to it.
	Ask func(context.Context) (V, error)
	// Admit may deny a review with an error. It is called for each attempt, but not for callers
	// that share the answer of another caller. It must not wait, and must not call the client. It
	// may be nil.
	Admit func() error
	// Trusted means that the review does not wait for reviews that are not trusted.
	Trusted bool
	// NoCache means that the answer is not cached.
	NoCache bool
	// MaxAge, if not 0, bounds the age of an answer from the cache.
	MaxAge time.Duration
}

// Cached returns a cached answer whose review began within maxAge. maxAge 0 means any age.
func (c *Client[V]) Cached(key Key, maxAge time.Duration) (V, bool) {
	value, ok := c.cache.young(key, maxAge)
	if ok {
		c.metrics.cached.Inc()
	}
	return value, ok
}

// Do answers a query. The caller should call [Client.Cached] first. Errors are those of Admit,
// [ErrBusy], those of the API server, and that of ctx.
func (c *Client[V]) Do(ctx context.Context, q Query[V]) (V, error) {
	f, err := c.join(q)
	if err != nil {
		var none V
		return none, err
	}
	defer c.leave(q.Key, f)
	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	}
}

// Wait returns when no review is in flight. Do must not be called any more.
func (c *Client[V]) Wait() { c.group.Wait() }

// attempt makes reviews until there is an answer, an error without a retry, or no waiting caller.
// It retries as the kubelet does, if Admit allows one more review.
func (c *Client[V]) attempt(ctx context.Context, q Query[V]) (value V, err error) {
	// No caller recovers from a panic here. One bad answer must not end the program.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the review panicked: %v", r)
		}
	}()
	// At high verbosity, client-go logs bodies, which contain tokens.
	ctx = klog.NewContext(ctx, logr.Discard())
	err = retry(ctx, func() bool { return q.Admit == nil || q.Admit() == nil }, func() error {
		leave, err := c.queues[q.Trusted].enter(ctx)
		if err != nil {
			c.metrics.busy.Inc()
			return err
		}
		defer leave()
		start := time.Now()
		value, err = q.Ask(ctx)
		c.metrics.asked(err, time.Since(start))
		return err
	})
	return value, err
}

// retry runs call until it succeeds, fails with a permanent error, or ctx is done. again runs
// before each further attempt, and can stop the retries. The error is that of the last attempt, if
// there was one.
func retry(ctx context.Context, again func() bool, call func() error) error {
	var last error
	left := backoff.Steps
	err := wait.ExponentialBackoffWithContext(ctx, backoff, func(context.Context) (bool, error) {
		last = call()
		left--
		if last != nil && left > 0 && temporary(last) && again() {
			return false, nil
		}
		return true, last
	})
	if last != nil {
		return last
	}
	return err
}

// temporary is the same as k8s.io/apiserver/pkg/util/webhook DefaultShouldRetry.
func temporary(err error) bool {
	if _, delay := apierrors.SuggestsClientDelay(err); delay {
		return true
	}
	return utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err) ||
		apierrors.IsInternalError(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err)
}
