// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"sync/atomic"
	"time"
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
