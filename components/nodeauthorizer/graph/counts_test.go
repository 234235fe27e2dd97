// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"math/rand/v2"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// The memory for many nodes is released as nodes are removed, not only when a single node is left.
func TestCountsShrink(t *testing.T) {
	var c counts
	for node := range uint32(5000) {
		c.add(node)
		c.add(node)
	}
	for node := range uint32(4990) {
		c.remove(node)
		c.remove(node)
		if room := len(c.many.slots); room > leastSlots && room > c.many.live*8 {
			t.Fatalf("%d nodes have room for %d", c.many.live, room)
		}
	}
	for node := range uint32(5000) {
		if got, want := c.has(node), node >= 4990; got != want {
			t.Errorf("node %d is in: %v, want %v", node, got, want)
		}
	}
}

// refcounts behaves like a Go map for any sequence of add and remove, and its memory stays within
// limits.
func TestRefcountsIsAMap(t *testing.T) {
	for seed := range uint64(200) {
		dice := rand.New(rand.NewPCG(seed, 0))
		var c counts
		want, nodes := map[uint32]uint32{}, 1+dice.Uint32N(40)*dice.Uint32N(40)
		for range 2000 {
			node := dice.Uint32N(nodes) << dice.IntN(3)
			if want[node] > 0 && dice.IntN(2) == 0 {
				want[node]--
				if got := c.remove(node); got != (want[node] == 0) {
					t.Fatalf("seed %d: removing %d says it is gone: %v", seed, node, got)
				}
			} else {
				want[node]++
				if got := c.add(node); got != (want[node] == 1) {
					t.Fatalf("seed %d: adding %d says it is new: %v", seed, node, got)
				}
			}
			if want[node] == 0 {
				delete(want, node)
			}
			if c.has(node) != (want[node] > 0) || c.many != nil && c.many.live != len(want) {
				t.Fatalf("seed %d: has %d: %v; want %v", seed, node, c.has(node), want)
			}
		}
		got := map[uint32]bool{}
		c.each(func(node uint32) { got[node] = true })
		if len(got) != len(want) {
			t.Fatalf("seed %d: %d nodes, want %d", seed, len(got), len(want))
		}
		for node := range want {
			if !got[node] || !c.has(node) {
				t.Errorf("seed %d: node %d is lost", seed, node)
			}
		}
	}
}

func TestCounts(t *testing.T) {
	for _, row := range []struct {
		name string
		do   func(*counts)
		want counts
	}{
		{"zero value", func(*counts) {}, counts{}},
		{"one node takes no table", func(c *counts) { c.add(7); c.add(7) }, counts{node: 7, n: 2}},
		{"two nodes take one", func(c *counts) { c.add(7); c.add(8); c.add(8) },
			counts{many: newRefcounts(entry{7, 1}, entry{8, 2})}},
		{"taking back once leaves the rest", func(c *counts) { c.add(7); c.add(7); c.remove(7) }, counts{node: 7, n: 1}},
		{"one node is left without a table", func(c *counts) { c.add(7); c.add(8); c.add(8); c.remove(7) },
			counts{node: 8, n: 2}},
		{"empty after removal", func(c *counts) { c.add(7); c.add(8); c.remove(7); c.remove(8) }, counts{node: 8}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var got counts
			row.do(&got)
			if diff := gocmp.Diff(row.want, got, gocmp.AllowUnexported(counts{}, refcounts{}, entry{})); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}
