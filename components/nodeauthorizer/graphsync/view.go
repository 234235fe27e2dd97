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
	// Synced is true after the resource has been listed completely, or after the server has
	// answered that it does not serve the API.
	Synced bool
	// Served is false while the server's last answer is that it does not serve the API.
	Served bool
	// Heard is when the server last sent anything about the resource: a list, an event, a bookmark,
	// the acceptance of a watch that continues, or the answer that it does not serve the API. It is
	// zero before the first answer.
	Heard time.Time
}

// view records the progress of one resource. Only the reflector of the resource writes it. It is
// read for every request of every node, so a read takes no lock.
type view struct {
	state atomic.Pointer[Progress]
}

func newView(resource string) *view {
	v := &view{}
	v.state.Store(&Progress{Resource: resource, Served: true})
	return v
}

func (v *view) progress() Progress { return *v.state.Load() }

// heard records an event, a bookmark or an accepted watch.
func (v *view) heard() {
	state := v.progress()
	state.Heard = time.Now()
	v.state.Store(&state)
}

// listed records a complete list.
func (v *view) listed() { v.complete(true) }

// absent records that the server does not serve the API.
func (v *view) absent() { v.complete(false) }

func (v *view) complete(served bool) {
	state := v.progress()
	state.Heard, state.Synced, state.Served = time.Now(), true, served
	v.state.Store(&state)
}

// Seen returns, for each resource that was listed, the newest resource version that the watch has
// shown. Decisions include every change up to that version. If a watch stalls, its version falls
// behind, even if the connection stays open.
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

// Fold writes the result of a live read to the graph. After that, the graph is at least as new as
// the read for all objects of the read. Objects that the watch has already shown in this or a newer
// version are skipped, so a slow read reverts nothing.
//
// Fold returns how many objects were news. It returns an error if the graph may be older than the
// read: the resource is not watched, it has not been listed yet, or its versions cannot be
// compared. It is safe for concurrent use.
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

// Watches reports whether the resource is watched.
func (s *Sync) Watches(resource string) bool {
	for _, w := range s.watched {
		if w.name == resource {
			return true
		}
	}
	return false
}
