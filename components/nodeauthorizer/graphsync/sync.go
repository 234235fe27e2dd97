// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// DefaultMaxAge is several bookmarks, of which a healthy API server sends about
// one a minute.
const DefaultMaxAge = 5 * time.Minute

// Options say what to watch. The zero value watches what relations are made of.
type Options struct {
	// MaxAge is the silence about a resource after which the graph is not to be
	// decided from any more; DefaultMaxAge if it is zero.
	MaxAge time.Duration
	// WithoutResourceSlices and WithoutPodCertificateRequests leave out APIs that
	// are known to be off; nothing of their kind reaches a node then.
	WithoutResourceSlices         bool
	WithoutPodCertificateRequests bool
	// Nodes, CertificateSigningRequests and PersistentVolumeClaims are watched only
	// if a rule is decided from them.
	Nodes                      bool
	CertificateSigningRequests bool
	PersistentVolumeClaims     bool
	// TerminatedPodGrace is how long a pod that has ended keeps what it had, from
	// when it was first seen to have ended; for ever if it is negative. A restart
	// sees every pod for the first time.
	TerminatedPodGrace time.Duration
	// Scopes is told of pods beside the graph, with what they say of node scope; nobody
	// is if it is nil.
	Scopes PodScopes
	// Clock times the grace; the real one if it is nil.
	Clock clock.Clock
}

// Sync fills one graph from one API server. Use [New].
type Sync struct {
	client  kubernetes.Interface
	maxAge  time.Duration
	watched []watched
	endings *endings
}

// watched is a resource with what its reflector writes to.
type watched struct {
	resource
	*store
}

// New prepares to fill the graph. The client needs list and watch on each
// resource in every namespace. Nothing is read before [Sync.Run].
func New(client kubernetes.Interface, g *graph.Graph, options Options) *Sync {
	timer := options.Clock
	if timer == nil {
		timer = clock.RealClock{}
	}
	s := &Sync{
		client:  client,
		maxAge:  cmp.Or(options.MaxAge, DefaultMaxAge),
		endings: newEndings(timer, options.TerminatedPodGrace, g.EndPod),
	}
	for _, resource := range resourcesOf(client, g, s.endings, options) {
		s.watched = append(s.watched, watched{resource, newStore(resource.into, newView(resource.name))})
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
	running.Go(func() { s.endings.run(ctx) })
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
	if s.isCurrent() {
		return ""
	}
	if !s.HasSynced() {
		return "has not yet seen the whole cluster"
	}
	if silent := s.silent(); len(silent) > 0 {
		return fmt.Sprintf("has a stale view: it has heard nothing about %s for more than %v", strings.Join(silent, ", "),
			s.maxAge)
	}
	return ""
}

// isCurrent is the quick way to an empty Unready, which is asked for every request
// of every node.
func (s *Sync) isCurrent() bool {
	oldest := time.Now().Add(-s.maxAge)
	for i := range s.watched {
		p := s.watched[i].view.state.Load()
		if !p.Synced || p.Heard.Before(oldest) {
			return false
		}
	}
	return true
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
