// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"context"
	"errors"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// minWatchSeconds is above what a reflector takes for a watch that broke.
const minWatchSeconds = 2

// reflect lists and watches one resource until the context ends. The delays
// between attempts are those of client-go's reflectors. Reflector.RunWithContext
// would do the same, but keeps its errors to itself, and the one that
// means "no such API" is needed here.
func (s *Sync) reflect(ctx context.Context, w watched) {
	reflector := cache.NewReflectorWithOptions(
		cache.ToListWatcherWithWatchListSemantics(w.heardWatching(s.maxAge/2), s.client), w.example, w.store,
		cache.ReflectorOptions{Name: "bulkhead-" + w.name},
	)
	backoff := wait.Backoff{Duration: 800 * time.Millisecond, Cap: 30 * time.Second, Steps: 38, Factor: 2, Jitter: 1}
	delay := backoff.DelayWithReset(clock.RealClock{}, 2*time.Minute)
	// The only error is that of the context.
	_ = delay.Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		if err := reflector.ListAndWatchWithContext(ctx); err != nil {
			w.handle(klog.FromContext(ctx).WithValues("resource", w.name), err)
		}
		return false, nil
	})
}

// heardWatching is the source, whose watches tell the view that the server lets
// them go on from where the graph is. They last no longer than the given time, so
// that a healthy server is heard of even if it sends no bookmarks, and one that
// does not let us watch any more is noticed. A watch that begins with a list tells
// nothing before that list is complete.
func (w watched) heardWatching(longest time.Duration) *cache.ListWatch {
	seconds := max(int64(longest/time.Second), minWatchSeconds)
	return &cache.ListWatch{
		ListWithContextFunc: w.source.ListWithContextFunc,
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			if options.SendInitialEvents != nil {
				return w.source.WatchFuncWithContext(ctx, options)
			}
			options.TimeoutSeconds = &seconds
			events, err := w.source.WatchFuncWithContext(ctx, options)
			if err == nil {
				w.view.heard()
			}
			return events, err
		},
	}
}

// handle takes note of a missing API, and logs everything else.
func (w watched) handle(logger klog.Logger, err error) {
	switch {
	case w.optional && apierrors.IsNotFound(err):
		if w.view.progress().Served {
			logger.Info("API is not served, so nothing of this kind can be related to a node")
		}
		if err := w.replace(nil, ""); err != nil {
			logger.Error(err, "Forgetting what was there")
			return
		}
		w.view.absent()
	case apierrors.IsResourceExpired(err), errors.Is(err, io.EOF):
		logger.V(2).Info("Watch ended, listing again", "reason", err)
	default:
		logger.Error(err, "Listing or watching, will try again")
	}
}
