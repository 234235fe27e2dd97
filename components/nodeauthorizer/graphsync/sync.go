// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// Options say what to watch. The zero value watches everything.
type Options struct {
	// WithoutResourceSlices and WithoutPodCertificateRequests leave out APIs that
	// are known to be off; nothing of their kind reaches a node then.
	WithoutResourceSlices         bool
	WithoutPodCertificateRequests bool
}

// Sync fills one graph from one API server. Use [New].
type Sync struct {
	client  kubernetes.Interface
	watched []watched
}

type watched struct {
	resource
	view *view
}

// New prepares to fill the graph. The client needs list and watch on each
// resource in every namespace. Nothing is read before [Sync.Run].
func New(client kubernetes.Interface, g *graph.Graph, options Options) *Sync {
	s := &Sync{client: client}
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
		cache.ToListWatcherWithWatchListSemantics(w.source, s.client), w.example, store{w.store, w.view},
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
