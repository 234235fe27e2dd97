// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
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

// minWatchSeconds leaves a watch time to begin.
const minWatchSeconds = 2

// watched is one resource that is followed, and how long ago something was heard
// of it.
type watched struct {
	name    string
	maxAge  time.Duration
	example runtime.Object
	source  *cache.ListWatch
	store   taker
	synced  atomic.Bool
	heard   atomic.Pointer[time.Time]
}

func (w *watched) heardNow() {
	now := time.Now()
	w.heard.Store(&now)
}

func (w *watched) unready() string {
	if !w.synced.Load() {
		return "has not yet seen all " + w.name
	}
	if time.Since(*w.heard.Load()) > w.maxAge {
		return fmt.Sprintf("has heard nothing about %s for more than %v", w.name, w.maxAge)
	}
	return ""
}

type lister[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

func sourceOf[L runtime.Object](client lister[L], fieldSelector string) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = fieldSelector
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = fieldSelector
			return client.Watch(ctx, options)
		},
	}
}

// run follows the resource until ctx is done, and lists it again whenever that
// ends for another reason.
func (w *watched) run(ctx context.Context, client kubernetes.Interface) {
	reflector := cache.NewReflectorWithOptions(
		cache.ToListWatcherWithWatchListSemantics(w.renewed(), client), w.example, reflected{w, w.store},
		cache.ReflectorOptions{Name: "bulkhead-memory-" + w.name},
	)
	backoff := wait.Backoff{Duration: 800 * time.Millisecond, Cap: 30 * time.Second, Steps: 38, Factor: 2, Jitter: 1}
	delay := backoff.DelayWithReset(clock.RealClock{}, 2*time.Minute)
	// The only error is that of the context.
	_ = delay.Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		if err := reflector.ListAndWatchWithContext(ctx); err != nil {
			w.complain(klog.FromContext(ctx), err)
		}
		return false, nil
	})
}

// renewed has watches end before their silence could be taken for a broken
// connection. That the server lets one begin is a sign of life.
func (w *watched) renewed() *cache.ListWatch {
	seconds := max(int64(w.maxAge/2/time.Second), minWatchSeconds)
	return &cache.ListWatch{
		ListWithContextFunc: w.source.ListWithContextFunc,
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			if options.SendInitialEvents != nil {
				return w.source.WatchFuncWithContext(ctx, options)
			}
			options.TimeoutSeconds = &seconds
			events, err := w.source.WatchFuncWithContext(ctx, options)
			if err == nil {
				w.heardNow()
			}
			return events, err
		},
	}
}

func (w *watched) complain(logger klog.Logger, err error) {
	if apierrors.IsResourceExpired(err) || errors.Is(err, io.EOF) {
		logger.V(2).Info("Watch ended, listing again", "resource", w.name, "reason", err)
		return
	}
	logger.Error(err, "Listing or watching, will try again", "resource", w.name)
}
