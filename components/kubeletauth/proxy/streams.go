// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"sync"
)

// streams are those that go on.
type streams struct {
	mu       sync.Mutex
	all      map[*stream]struct{}
	stopping bool
	// none is closed when the last one ends, if somebody waits for it.
	none chan struct{}
}

// add is false once the proxy is stopping.
func (s *streams) add(one *stream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[*stream]struct{}{}
	}
	s.all[one] = struct{}{}
	return !s.stopping
}

func (s *streams) remove(one *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, one)
	if len(s.all) == 0 && s.none != nil {
		close(s.none)
		s.none = nil
	}
}

// list begins the end: no stream is added from then on.
func (s *streams) list() []*stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping = true
	list := make([]*stream, 0, len(s.all))
	for one := range s.all {
		list = append(list, one)
	}
	return list
}

// empty is closed when there is none.
func (s *streams) empty() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.none == nil {
		s.none = make(chan struct{})
	}
	none := s.none
	if len(s.all) == 0 {
		close(s.none)
		s.none = nil
	}
	return none
}

// Drain waits for streams to end until ctx is done, and ends those that are left.
// It returns when none is left.
func (h *Handler) Drain(ctx context.Context) {
	select {
	case <-h.streams.empty():
	case <-ctx.Done():
	}
	for _, one := range h.streams.list() {
		one.end(errStopping)
	}
	<-h.streams.empty()
}
