// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"sync"
	"testing"
)

func TestAGateKeepsWritersAlone(t *testing.T) {
	var (
		g       gate
		count   int
		workers sync.WaitGroup
	)
	const writers, readers, turns = 4, 16, 500
	for range writers {
		workers.Go(func() {
			for range turns {
				g.Lock()
				count++
				g.Unlock()
			}
		})
	}
	for range readers {
		workers.Go(func() {
			for range turns {
				held := g.RLock()
				before := count
				if after := count; after != before {
					t.Errorf("a writer came in beside a reader: %d became %d", before, after)
				}
				held.RUnlock()
			}
		})
	}
	workers.Wait()
	if count != writers*turns {
		t.Errorf("%d of %d writes are there: writers came in beside each other", count, writers*turns)
	}
}

func TestAGateLetsReadersInBesideEachOther(t *testing.T) {
	var g gate
	first := g.RLock()
	defer first.RUnlock()
	second := make(chan struct{})
	go func() {
		defer close(second)
		g.RLock().RUnlock()
	}()
	<-second
}

// Whichever part a reader has, a writer waits for it.
func TestAGateHasWritersWaitForEachPart(t *testing.T) {
	for i := range gateParts {
		var g gate
		g.parts[i].RLock()
		written := make(chan struct{})
		go func() {
			defer close(written)
			g.Lock()
			g.Unlock() //nolint:staticcheck // to have got it is what matters
		}()
		for g.parts[i].TryRLock() { // until the writer waits: a reader would have to as well
			g.parts[i].RUnlock()
		}
		select {
		case <-written:
			t.Errorf("a writer did not wait for part %d", i)
		default:
		}
		g.parts[i].RUnlock()
		<-written
	}
}

func BenchmarkGate(b *testing.B) {
	b.Run("gate", func(b *testing.B) {
		var g gate
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				g.RLock().RUnlock()
			}
		})
	})
	b.Run("RWMutex", func(b *testing.B) {
		var m sync.RWMutex
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				m.RLock()
				m.RUnlock() //nolint:staticcheck // what it costs is what matters
			}
		})
	})
	b.Run("gate, writing", func(b *testing.B) {
		var g gate
		for b.Loop() {
			g.Lock()
			g.Unlock() //nolint:staticcheck // what it costs is what matters
		}
	})
}
