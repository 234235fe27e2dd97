// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// Memory bounds the memory of reviews, in bytes of JSON.
type Memory struct {
	// SmallBody is the size of the largest small review. A size that nearly no review exceeds keeps
	// a large review of one node from delaying a small review of another.
	SmallBody int64
	// Small and Large bound the total size of small and of large reviews at one time. A decoded
	// object takes several times its size in JSON.
	Small, Large int64
	// Shares is the divisor for nodes: one node may use at most 1/Shares of Small and of Large.
	Shares int64
}

// memoryLimiter bounds the memory of reviews, from before a review is read. The user is known only
// after the review is read. From then on, the review counts against the share of its node. So a
// node can exceed its share only while its reviews are being read.
type memoryLimiter struct {
	smallBody, maxBody int64
	queueTimeout       time.Duration
	small, large       *memoryPool
}

// memoryPool bounds the reviews of one size class.
type memoryPool struct {
	all   *semaphore.Weighted
	size  int64
	share int64

	mu sync.Mutex
	// nodes has an entry only while a request of that node counts against its share.
	nodes map[string]int64
}

func newMemoryLimiter(m Memory, maxBody int64, queueTimeout time.Duration) *memoryLimiter {
	pool := func(size int64) *memoryPool {
		return &memoryPool{
			all: semaphore.NewWeighted(size), size: size, share: size / m.Shares, nodes: map[string]int64{},
		}
	}
	return &memoryLimiter{
		smallBody: m.SmallBody, maxBody: maxBody, queueTimeout: queueTimeout,
		small: pool(m.Small), large: pool(m.Large),
	}
}

// reservation is the memory that one review has reserved. One goroutine uses it.
type reservation struct {
	pool   *memoryPool
	size   int64
	node   string
	isNode bool
	// body is nil until the review is read.
	body *Body
	done bool
}

// reserve reserves size bytes for a review, and waits at most queueTimeout for them. A negative size
// means unknown, and reserves the largest size. The caller must call release only if reserve
// returns WithinLimits.
func (l *memoryLimiter) reserve(ctx context.Context, size int64) (*reservation, Excess) {
	if size < 0 {
		size = l.maxBody
	}
	r := &reservation{pool: l.small, size: size}
	if size > l.smallBody {
		r.pool = l.large
	}
	if r.pool.all.TryAcquire(size) {
		return r, WithinLimits
	}
	ctx, cancel := context.WithTimeout(ctx, l.queueTimeout)
	defer cancel()
	if err := r.pool.all.Acquire(ctx, size); err != nil {
		return nil, AllMemory
	}
	return r, WithinLimits
}

// countAgainst counts the reserved memory against the share of a node. After release it does
// nothing.
func (r *reservation) countAgainst(node string) Excess {
	if r.done {
		return WithinLimits
	}
	p := r.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.nodes[node]+r.size > p.share {
		return NodeMemory
	}
	p.nodes[node] += r.size
	r.node, r.isNode = node, true
	return WithinLimits
}

// release returns the memory and the body. A second call does nothing.
func (r *reservation) release() {
	if r.done {
		return
	}
	r.done = true
	if r.body != nil {
		r.body.Release()
	}
	if r.isNode {
		r.pool.leave(r.node, r.size)
	}
	r.pool.all.Release(r.size)
}

func (p *memoryPool) leave(node string, size int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.nodes[node] -= size; p.nodes[node] == 0 {
		delete(p.nodes, node)
	}
}

// idle returns an error if memory is reserved.
func (p *memoryPool) idle() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.nodes) > 0 {
		return fmt.Errorf("nodes use memory: %v", p.nodes)
	}
	if !p.all.TryAcquire(p.size) {
		return fmt.Errorf("some of %d bytes are reserved", p.size)
	}
	p.all.Release(p.size)
	return nil
}
