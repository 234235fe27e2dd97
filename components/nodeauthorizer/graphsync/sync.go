// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// DefaultMaxAge is several bookmarks, of which a healthy API server sends about
// one a minute.
const DefaultMaxAge = 5 * time.Minute

// minWatchSeconds is above what a reflector takes for a watch that broke.
const minWatchSeconds = 2

// Options say what to watch. The zero value watches everything.
type Options struct {
	// MaxAge is the silence about a resource after which the graph is not to be
	// decided from any more; DefaultMaxAge if it is zero.
	MaxAge time.Duration
	// WithoutResourceSlices and WithoutPodCertificateRequests leave out APIs that
	// are known to be off; nothing of their kind reaches a node then.
	WithoutResourceSlices         bool
	WithoutPodCertificateRequests bool
}

// Sync fills one graph from one API server. Use [New].
type Sync struct {
	client  kubernetes.Interface
	maxAge  time.Duration
	watched []watched
}

type watched struct {
	resource
	view *view
}

// New prepares to fill the graph. The client needs list and watch on each
// resource in every namespace. Nothing is read before [Sync.Run].
func New(client kubernetes.Interface, g *graph.Graph, options Options) *Sync {
	s := &Sync{client: client, maxAge: cmp.Or(options.MaxAge, DefaultMaxAge)}
	for _, resource := range resourcesOf(client, g, options) {
		s.watched = append(s.watched, watched{resource, newView(resource.name)})
	}
	return s
}

// Run keeps the graph in agreement with the server until the context ends, and
// returns when all its work has stopped. It must be called once only. What goes
// wrong is logged and tried again.
func (s *Sync) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, w := range s.watched {
		running.Go(func() { s.reflect(ctx, w) })
	}
	running.Wait()
}

// HasSynced reports whether every resource has been taken into the graph in full
// at least once. It never becomes false again.
func (s *Sync) HasSynced() bool {
	for _, w := range s.watched {
		if !w.view.progress().Synced {
			return false
		}
	}
	return true
}

// Unready says, as the end of a sentence, why the graph is not to be decided from:
// not every resource has been listed yet, or the server has said nothing about
// some for longer than MaxAge. It is empty if the graph can be decided from.
func (s *Sync) Unready() string {
	if !s.HasSynced() {
		return "has not yet seen the whole cluster"
	}
	if silent := s.silent(); len(silent) > 0 {
		return fmt.Sprintf("has a stale view: it has heard nothing about %s for more than %v", strings.Join(silent, ", "), s.maxAge)
	}
	return ""
}

// silent names the resources that have not been heard of for too long. One that
// is not served is asked for again and again, so it is heard of too.
func (s *Sync) silent() []string {
	var names []string
	now := time.Now()
	for _, w := range s.watched {
		if now.Sub(w.view.progress().Heard) > s.maxAge {
			names = append(names, w.name)
		}
	}
	return names
}

// Progress tells, for each resource that is watched, how current the graph is
// known to be.
func (s *Sync) Progress() []Progress {
	progress := make([]Progress, 0, len(s.watched))
	for _, w := range s.watched {
		progress = append(progress, w.view.progress())
	}
	return progress
}

// Lag is the time since the server last said anything about the resource; the
// documentation of the package says what that is worth. It is false for a
// resource that is not watched, has not been heard of yet, or is not served:
// those have no lag.
func (s *Sync) Lag(resource string) (time.Duration, bool) {
	for _, p := range s.Progress() {
		if p.Resource == resource && p.Served && !p.Heard.IsZero() {
			return time.Since(p.Heard), true
		}
	}
	return 0, false
}

// reflect lists and watches one resource until the context ends. The delays
// between attempts are those of client-go's reflectors. Reflector.RunWithContext
// would do the same, but keeps its errors to itself, and the one that
// means "no such API" is needed here.
func (s *Sync) reflect(ctx context.Context, w watched) {
	reflector := cache.NewReflectorWithOptions(
		cache.ToListWatcherWithWatchListSemantics(w.heardWatching(s.maxAge/2), s.client), w.example, store{w.store, w.view},
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
		if err := w.store.replaceObjects(nil); err != nil {
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
