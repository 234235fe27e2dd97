// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package reflector keeps a store current with one resource of the API server, as the
// reflectors of client-go do.
//
// What hangs on it is who may read a node's secrets. So it asks again sooner: a reflector
// waits up to a minute for a server that was away, the longer the more often it was. And a
// watch that goes on from where the store is does not last long, so that silence is not
// taken for a broken connection. The first after a list, where the server sends the list
// as a watch, is client-go's and lasts five to ten minutes.
package reflector

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

const (
	// anew is after how long the delays begin anew, also of a server that is still away, as
	// in client-go's tools/cache/reflector.go.
	anew = 2 * time.Minute
	// minWatchSeconds is above what a reflector takes for a watch that broke.
	minWatchSeconds = 2
)

// backoff is how long to wait after an attempt that failed: half a second to a second at
// first, and three to six in the end. A server that is overloaded defends itself (429).
func backoff() wait.Backoff {
	return wait.Backoff{Duration: 500 * time.Millisecond, Cap: 3 * time.Second, Steps: 10, Factor: 2, Jitter: 1}
}

// Resource is what is followed. All fields are required.
type Resource struct {
	// Name is what client-go's log calls it.
	Name    string
	Example runtime.Object
	Source  *cache.ListWatch
	Store   cache.ReflectorStore
	// Longest is how long a watch lasts before it is renewed. Rounded down to seconds, of
	// which it has two at least.
	Longest time.Duration
	// Heard is called when the server lets a watch go on from where the store is, which
	// shows that it is there even if nothing changes.
	Heard func()
	// Failed is called with what ended an attempt. Another follows, no sooner than after
	// what it returns.
	Failed func(context.Context, error) time.Duration
}

// Run lists and watches until ctx is done. Reflector.RunWithContext would do the same, but
// keeps its errors to itself.
func (r Resource) Run(ctx context.Context, client kubernetes.Interface) {
	again := backoff()
	reflector := cache.NewReflectorWithOptions(
		cache.ToListWatcherWithWatchListSemantics(r.renewed(), client), r.Example, r.Store,
		cache.ReflectorOptions{Name: r.Name, Backoff: &again},
	)
	// The only error is that of the context.
	_ = again.DelayWithReset(clock.RealClock{}, anew).Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		if err := reflector.ListAndWatchWithContext(ctx); err != nil {
			pause(ctx, r.Failed(ctx, err))
		}
		return false, nil
	})
}

func pause(ctx context.Context, least time.Duration) {
	if least <= 0 {
		return
	}
	select {
	case <-time.After(least):
	case <-ctx.Done():
	}
}

// renewed is the source with watches that end. One that begins with a list tells nothing
// before that list is complete.
func (r Resource) renewed() *cache.ListWatch {
	seconds := max(int64(r.Longest/time.Second), minWatchSeconds)
	return &cache.ListWatch{
		ListWithContextFunc: r.Source.ListWithContextFunc,
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			if options.SendInitialEvents != nil {
				return r.Source.WatchFuncWithContext(ctx, options)
			}
			options.TimeoutSeconds = &seconds
			events, err := r.Source.WatchFuncWithContext(ctx, options)
			if err == nil {
				r.Heard()
			}
			return events, err
		},
	}
}
