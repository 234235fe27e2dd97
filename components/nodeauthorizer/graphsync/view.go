// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// Progress is how current the view of one resource is known to be.
type Progress struct {
	Resource string
	// Synced is true when the resource has been listed in full, or when the server
	// has no such API.
	Synced bool
	// Served is false while the server's last answer was that it has no such API.
	Served bool
	// Heard is when the server last said anything about the resource: a list, an
	// event, a bookmark, that a watch goes on from where the graph is, or that there
	// is no such API. It is zero before the first answer.
	Heard time.Time
}

// view records the progress of one resource. Only the reflector of the resource
// writes it. It is read for every request of every node, so reading takes no lock.
type view struct {
	state atomic.Pointer[Progress]
}

func newView(resource string) *view {
	v := &view{}
	v.state.Store(&Progress{Resource: resource, Served: true})
	return v
}

func (v *view) progress() Progress { return *v.state.Load() }

// heard notes an event, a bookmark or a watch that goes on.
func (v *view) heard() {
	state := v.progress()
	state.Heard = time.Now()
	v.state.Store(&state)
}

// listed notes a complete list.
func (v *view) listed() { v.complete(true) }

// absent notes that the server has no such API.
func (v *view) absent() { v.complete(false) }

func (v *view) complete(served bool) {
	state := v.progress()
	state.Heard, state.Synced, state.Served = time.Now(), true, served
	v.state.Store(&state)
}

// Seen returns, for each resource that was listed, the newest resource version that the
// watch has shown. Every change up to that version counts in what is decided. A watch that
// has stalled falls behind here, also while its connection is kept.
func (s *Sync) Seen() map[string]string {
	seen := map[string]string{}
	for _, w := range s.watched {
		if version := w.seen(); version != "" {
			seen[w.name] = version
		}
	}
	return seen
}

func (s *store) seen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.versions.seen
}

// Fold takes what a live read of a resource returned into the graph, so that the
// graph is at least as new as the read in all that is in it. What the watch has
// shown already is left out, so a slow read undoes nothing. The objects are
// trimmed in place.
//
// It tells how many objects were news. An error means that the graph may be older
// than the read: the resource is not watched, it has not been listed yet, or its
// versions cannot be compared. It is safe for concurrent use.
func (s *Sync) Fold(resource string, objects ...runtime.Object) (news int, err error) {
	for _, w := range s.watched {
		if w.name != resource {
			continue
		}
		news, err := w.fold(objects)
		if err != nil {
			return news, fmt.Errorf("folding %s: %w", resource, err)
		}
		return news, nil
	}
	return 0, fmt.Errorf("folding %s: it is not watched", resource)
}

// Watches reports whether the resource is one of those that make the graph.
func (s *Sync) Watches(resource string) bool {
	for _, w := range s.watched {
		if w.name == resource {
			return true
		}
	}
	return false
}
