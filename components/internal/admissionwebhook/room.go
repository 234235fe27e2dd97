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

// patience is how long a request waits for memory, for a place of its node, and for a place among
// all requests. It waits for each separately, so at most three times. This leaves the reviewer most
// of the 2 s after which kube-apiserver gives up.
const patience = time.Second / 4

const (
	// smallBody is larger than nearly every review. A review of a Node with 50 images, new and old,
	// has 60 KiB.
	smallBody = 128 << 10
	// smallRoom and largeRoom bound the total bytes of small and of large reviews at one time.
	// Decoded objects take several times their size in JSON. Separate limits ensure that a large
	// review of one node never delays a small review of another.
	smallRoom = 16 << 20
	largeRoom = 4 * maxBody
	// shares divides a room: one node may use at most 1/shares of it.
	shares = 4
)

// room bounds the memory of reviews, from before a review is read until it is answered. The user is
// known only after the review is read. From then on, the review counts against the share of its
// node. So a node can exceed its share only while its reviews are being read.
type room struct{ small, large *hall }

// hall bounds the reviews of one size class.
type hall struct {
	all   *semaphore.Weighted
	share int64

	mu sync.Mutex
	// nodes has an entry only while a request of that node counts against its share.
	nodes map[string]int64
}

func newRoom() *room { return &room{small: newHall(smallRoom), large: newHall(largeRoom)} }

func newHall(size int64) *hall {
	return &hall{all: semaphore.NewWeighted(size), share: size / shares, nodes: map[string]int64{}}
}

// spot is the memory that one review has reserved.
type spot struct {
	hall   *hall
	size   int64
	node   string
	isNode bool
}

// enter reserves size bytes for a review, and waits at most patience for them. A negative size
// means unknown, and reserves maxBody. The caller must call leave only if enter returns
// WithinLimits.
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

// belongsTo counts the reserved memory against the share of a node.
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
