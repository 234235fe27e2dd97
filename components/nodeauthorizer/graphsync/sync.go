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

// DefaultMaxAge is the time of several bookmarks. A healthy API server sends a bookmark about once
// a minute.
const DefaultMaxAge = 5 * time.Minute

// Options select what to watch. The zero value watches the resources that relations are made from.
type Options struct {
	// MaxAge is how long the server may send nothing about a resource. After that, [Sync.Unready]
	// returns a reason. It is DefaultMaxAge if it is zero.
	MaxAge time.Duration
	// WithoutResourceSlices and WithoutPodCertificateRequests exclude APIs that are known to be
	// off. No object of that kind is then related to a node.
	WithoutResourceSlices         bool
	WithoutPodCertificateRequests bool
	// Nodes, CertificateSigningRequests and PersistentVolumeClaims are watched only if an active
	// rule uses them.
	Nodes                      bool
	CertificateSigningRequests bool
	PersistentVolumeClaims     bool
	// TerminatedPodGrace is how long a pod that has ended keeps its relations. The time starts when
	// the pod is first seen to have ended. After a restart, every pod is seen for the first time.
	// If it is negative, the relations never expire.
	TerminatedPodGrace time.Duration
	// Scopes receives the pods with their node scope annotations, in addition to the graph. It may
	// be nil.
	Scopes PodScopes
	// Clock measures TerminatedPodGrace. It is the real clock if it is nil.
	Clock clock.Clock
}

// Sync fills one graph from one API server. Use [New]. Except for [Sync.Run], its methods are safe
// for concurrent use.
type Sync struct {
	client  kubernetes.Interface
	maxAge  time.Duration
	watched []watched
	endings *endings
}

// watched is a resource and the store to which its reflector writes.
type watched struct {
	resource
	*store
}

// New prepares to fill the graph. The client needs list and watch on each resource in every
// namespace. It reads nothing before [Sync.Run].
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

// Run keeps the graph in agreement with the server until the context ends. It returns when all its
// goroutines have stopped. Call it only once. It logs errors and retries.
func (s *Sync) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, w := range s.watched {
		running.Go(func() { s.reflect(ctx, w) })
	}
	running.Go(func() { s.endings.run(ctx) })
	running.Wait()
}

// HasSynced reports whether every resource has been written to the graph completely at least once.
// It never becomes false again.
func (s *Sync) HasSynced() bool {
	for _, w := range s.watched {
		if !w.view.progress().Synced {
			return false
		}
	}
	return true
}

// Unready returns why requests must not be decided from the graph, as the end of a sentence. Either
// not every resource has been listed yet, or the server has sent nothing about some resource for
// longer than MaxAge. It is empty if the graph is current.
func (s *Sync) Unready() string {
	if s.isCurrent() {
		return ""
	}
	if !s.HasSynced() {
		return "has not yet seen the whole cluster"
	}
	if silent := s.silent(); len(silent) > 0 {
		return fmt.Sprintf("has a stale view: it has received nothing about %s for more than %v", strings.Join(silent, ", "),
			s.maxAge)
	}
	return ""
}

// isCurrent is the fast check for Unready, which runs for every request of every node.
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

// silent lists the resources about which the server has sent nothing for too long. An API that is
// not served is listed again and again, and each 404 counts as an answer.
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

// Progress returns, for each watched resource, how current the graph is known to be.
func (s *Sync) Progress() []Progress {
	progress := make([]Progress, 0, len(s.watched))
	for _, w := range s.watched {
		progress = append(progress, w.view.progress())
	}
	return progress
}
