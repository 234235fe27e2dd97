// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admissionwebhook

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

// patience is how long a request waits for room, for its node's place, and for one
// of all: three times together at most, which leaves the reviewer most of the 2 s
// after which kube-apiserver gives up.
const patience = time.Second / 4

const (
	// smallBody is more than nearly every review has: a Node with 50 images, new and
	// old, has 60 KiB.
	smallBody = 128 << 10
	// smallRoom and largeRoom bound the bytes of small and of large reviews at one
	// time. Objects take several times what they have as JSON. With separate room, a
	// large review of one node never keeps a small one of another waiting.
	smallRoom = 16 << 20
	largeRoom = 4 * maxBody
	// shares is how many nodes it takes to fill a room.
	shares = 4
)

// room bounds the memory that reviews take from before they are read until they
// are answered. Whose a review is, is known only when it has been read; it keeps its
// room then only within the share of its node. So a node can have more than its
// share for no longer than reading takes.
type room struct{ small, large *hall }

// hall is the room for reviews of one size.
type hall struct {
	all   *semaphore.Weighted
	share int64

	mu sync.Mutex
	// nodes has an entry only while a request of that node is in the room.
	nodes map[string]int64
}

func newRoom() *room { return &room{small: newHall(smallRoom), large: newHall(largeRoom)} }

func newHall(size int64) *hall {
	return &hall{all: semaphore.NewWeighted(size), share: size / shares, nodes: map[string]int64{}}
}

// spot is the room that one review takes.
type spot struct {
	hall   *hall
	size   int64
	node   string
	isNode bool
}

// enter waits, not for long, for the room that a review of size bytes takes. A
// negative size is not known and may be any. There is nothing to leave unless the
// review is within limits.
func (r *room) enter(ctx context.Context, size int64) (*spot, webhook.Excess) {
	if size < 0 {
		size = maxBody
	}
	s := &spot{hall: r.small, size: size}
	if size > smallBody {
		s.hall = r.large
	}
	if s.hall.all.TryAcquire(size) {
		return s, webhook.WithinLimits
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := s.hall.all.Acquire(ctx, size); err != nil {
		return nil, webhook.AllMemory
	}
	return s, webhook.WithinLimits
}

// belongsTo takes the room from the share of a node.
func (s *spot) belongsTo(node string) webhook.Excess {
	h := s.hall
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.nodes[node]+s.size > h.share {
		return webhook.NodeMemory
	}
	h.nodes[node] += s.size
	s.node, s.isNode = node, true
	return webhook.WithinLimits
}

func (s *spot) leave() {
	if s.isNode {
		s.hall.leave(s.node, s.size)
	}
	s.hall.all.Release(s.size)
}

func (h *hall) leave(node string, size int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.nodes[node] -= size; h.nodes[node] == 0 {
		delete(h.nodes, node)
	}
}
