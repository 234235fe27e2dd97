// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package reflector keeps a store in agreement with one resource of the API server, as client-go's
// reflectors do.
//
// The store decides which node may read which secrets. So this package retries sooner than
// client-go: a client-go reflector waits up to a minute after several failures. It also limits how
// long a watch that continues from the last resource version lasts. So a quiet resource is not
// mistaken for a broken connection. The first watch after a list uses client-go's timeout of five
// to ten minutes, if the server sends the list as a watch.
package reflector

import (
	"context"
	"errors"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// anew is the time after which the delays start again from the shortest one, even if the server
	// is still unavailable, as in client-go's tools/cache/reflector.go.
	anew = 2 * time.Minute
	// minWatchSeconds is longer than the watches that client-go's reflector treats as broken.
	minWatchSeconds = 2
)

// backoff returns the delays after failed attempts: 0.5 to 1 s at first, and 3 to 6 s later. An
// overloaded server protects itself with 429.
func backoff() wait.Backoff {
	return wait.Backoff{Duration: 500 * time.Millisecond, Cap: 3 * time.Second, Steps: 10, Factor: 2, Jitter: 1}
}

// Resource is what a reflector lists and watches. All fields are required.
type Resource struct {
	// Name is the reflector's name in client-go's log.
	Name    string
	Example runtime.Object
	Source  *cache.ListWatch
	Store   cache.ReflectorStore
	// Longest is how long a watch lasts before it is renewed, rounded down to seconds. The minimum
	// is two seconds.
	Longest time.Duration
	// Heard is called when the server accepts a watch that continues from the store's resource
	// version. This shows that the server is available, even if nothing changes.
	Heard func()
	// Failed is called with the error that ended an attempt. The next attempt starts after the
	// returned delay at the earliest.
	Failed func(context.Context, error) time.Duration
}

// client is what the typed client of every resource implements. L is its list type.
type client[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// Everything is the source of all objects that the client can read.
func Everything[L runtime.Object](c client[L]) *cache.ListWatch { return Selected(c, "") }

// Selected is the source of the objects that match the field selector.
func Selected[L runtime.Object](c client[L], fieldSelector string) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = fieldSelector
			return c.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = fieldSelector
			return c.Watch(ctx, options)
		},
	}
}

// LogFailure logs the error that ended an attempt. Most watches end in an expected way.
func LogFailure(logger klog.Logger, err error) {
	if apierrors.IsResourceExpired(err) || errors.Is(err, io.EOF) {
		logger.V(2).Info("Watch ended, listing again", "reason", err)
		return
	}
	logger.Error(err, "Listing or watching, will try again")
}

// Run lists and watches until ctx is done. Reflector.RunWithContext would do the same, but does not
// return its errors.
func (r Resource) Run(ctx context.Context, client kubernetes.Interface) {
	again := backoff()
	reflector := cache.NewReflectorWithOptions(
		cache.ToListWatcherWithWatchListSemantics(r.renewed(), client), r.Example, r.Store,
		cache.ReflectorOptions{Name: r.Name, Backoff: &again},
	)
	// Until returns only the error of the context.
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

// renewed is the source with a time limit for its watches. A watch that begins with a list does not
// call Heard, because the list is not complete yet.
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
