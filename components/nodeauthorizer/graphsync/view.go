// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"sync"
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
	// event, a bookmark, or that there is no such API. It is zero before the
	// first answer.
	Heard time.Time
}

// view records the progress of one resource.
type view struct {
	mu    sync.Mutex
	state Progress
}

func newView(resource string) *view {
	return &view{state: Progress{Resource: resource, Served: true}}
}

func (v *view) progress() Progress {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.state
}

// heard notes an event or a bookmark.
func (v *view) heard() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.state.Heard = time.Now()
}

// listed notes a complete list.
func (v *view) listed() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.state.Heard, v.state.Synced, v.state.Served = time.Now(), true, true
}

// absent notes that the server has no such API.
func (v *view) absent() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.state.Heard, v.state.Synced, v.state.Served = time.Now(), true, false
}
