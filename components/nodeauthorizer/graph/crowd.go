// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import "math/bits"

// crowd says how many times each of several nodes has been added. It is an open hash
// table with linear probing, for the reason that decisions wait for it: a Go map takes
// two or three times as long to say that a node is in, and more room while nodes are
// few.
type crowd struct {
	// slots is a power of two long, and never more than three quarters full.
	slots []headcount
	live  int
}

// headcount is empty when n is 0.
type headcount struct{ node, n uint32 }

const (
	// leastSlots are those of two and three nodes.
	leastSlots = 4
	// spread is 2^32 divided by the golden ratio: the numbers of nodes are given out
	// in turn, and their products with it are spread evenly.
	spread = 0x9E3779B1
)

func newCrowd(first, second headcount) *crowd {
	c := &crowd{slots: make([]headcount, leastSlots), live: 2}
	*c.slot(first.node) = first
	*c.slot(second.node) = second
	return c
}

func (c *crowd) home(node uint32) int {
	return int(node * spread >> (32 - bits.TrailingZeros(uint(len(c.slots)))))
}

// slot is the node's, or the empty one that would become it.
func (c *crowd) slot(node uint32) *headcount {
	mask := len(c.slots) - 1
	for at := c.home(node); ; at++ {
		if s := &c.slots[at&mask]; s.n == 0 || s.node == node {
			return s
		}
	}
}

func (c *crowd) has(node uint32) bool { return c.slot(node).n > 0 }

// add puts the node in once more and reports whether it was not there before.
func (c *crowd) add(node uint32) (first bool) {
	s := c.slot(node)
	if s.n > 0 {
		s.n++
		return false
	}
	if c.live++; c.live*4 > len(c.slots)*3 {
		c.resize(len(c.slots) * 2)
		s = c.slot(node)
	}
	*s = headcount{node, 1}
	return true
}

// remove takes back one add and reports whether the node is gone now. The room goes
// with the nodes: it is made smaller at an eighth, so that the copying costs less than
// the removals did.
func (c *crowd) remove(node uint32) (last bool) {
	s := c.slot(node)
	if s.n--; s.n > 0 {
		return false
	}
	s.n = 1
	c.vacate(node)
	if c.live--; c.live*8 < len(c.slots) && len(c.slots) > leastSlots {
		c.resize(len(c.slots) / 2)
	}
	return true
}

// vacate empties the node's slot and moves up those behind it that would not be found
// any more across the gap.
func (c *crowd) vacate(node uint32) {
	mask := len(c.slots) - 1
	gap := c.home(node)
	for c.slots[gap].node != node {
		gap = (gap + 1) & mask
	}
	for at := (gap + 1) & mask; c.slots[at].n != 0; at = (at + 1) & mask {
		fromHome := (at - c.home(c.slots[at].node)) & mask
		if fromHome >= (at-gap)&mask {
			c.slots[gap] = c.slots[at]
			gap = at
		}
	}
	c.slots[gap] = headcount{}
}

func (c *crowd) resize(size int) {
	old := c.slots
	c.slots = make([]headcount, size)
	for _, s := range old {
		if s.n > 0 {
			*c.slot(s.node) = s
		}
	}
}

// each calls visit once for every node.
func (c *crowd) each(visit func(headcount)) {
	for _, s := range c.slots {
		if s.n > 0 {
			visit(s)
		}
	}
}
