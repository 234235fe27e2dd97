// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"math/bits"
)

// counts is a multiset of nodes. Most objects are related to one node only. That case needs no
// allocation.
type counts struct {
	// node has been added n times. It is not set if n is 0.
	node uint32
	n    uint32
	// many replaces node and n if it is set. It then has at least two nodes.
	many *refcounts
}

// has reports whether the node is in the multiset.
func (c *counts) has(node uint32) bool {
	if c.many != nil {
		return c.many.has(node)
	}
	return c.n > 0 && c.node == node
}

// single returns the node if the multiset has exactly one.
func (c *counts) single() (node uint32, ok bool) {
	return c.node, c.many == nil && c.n > 0
}

// add adds the node once and reports whether it is new.
func (c *counts) add(node uint32) (first bool) {
	switch {
	case c.many != nil:
		return c.many.add(node)
	case c.n == 0:
		c.node, c.n = node, 1
		return true
	case c.node == node:
		c.n++
		return false
	default:
		c.many = newRefcounts(entry{c.node, c.n}, entry{node, 1})
		c.node, c.n = 0, 0
		return true
	}
}

// remove reverts one add and reports whether the node is no longer in the multiset.
func (c *counts) remove(node uint32) (last bool) {
	if c.many == nil {
		c.n--
		return c.n == 0
	}
	if !c.many.remove(node) {
		return false
	}
	if c.many.live == 1 {
		c.collapse()
	}
	return true
}

// collapse changes back to the form for one node, so that an object that was once on many nodes
// does not stay large.
func (c *counts) collapse() {
	c.many.each(func(left entry) { c.node, c.n = left.node, left.n })
	c.many = nil
}

// each calls visit once for every node in the multiset.
func (c *counts) each(visit func(node uint32)) {
	switch {
	case c.many != nil:
		c.many.each(func(s entry) { visit(s.node) })
	case c.n > 0:
		visit(c.node)
	}
}

// refcounts stores how many times each of several nodes has been added. It is an open-addressing
// hash table with linear probing, because decisions wait for it. A Go map takes two to three times
// as long for a lookup, and more memory for a small number of nodes.
type refcounts struct {
	// The length of slots is a power of two. At most three quarters of them are used.
	slots []entry
	live  int
}

// entry is empty if n is 0.
type entry struct{ node, n uint32 }

const (
	// leastSlots is the size for two and three nodes.
	leastSlots = 4
	// spread is 2^32 divided by the golden ratio. Node numbers are assigned in sequence, and their
	// products with spread are distributed evenly.
	spread = 0x9E3779B1
)

func newRefcounts(first, second entry) *refcounts {
	c := &refcounts{slots: make([]entry, leastSlots), live: 2}
	*c.slot(first.node) = first
	*c.slot(second.node) = second
	return c
}

func (c *refcounts) home(node uint32) int {
	return int(node * spread >> (32 - bits.TrailingZeros(uint(len(c.slots)))))
}

// slot returns the entry of the node, or the empty entry where it would be stored.
func (c *refcounts) slot(node uint32) *entry {
	mask := len(c.slots) - 1
	for at := c.home(node); ; at++ {
		if s := &c.slots[at&mask]; s.n == 0 || s.node == node {
			return s
		}
	}
}

func (c *refcounts) has(node uint32) bool { return c.slot(node).n > 0 }

// add adds the node once and reports whether it is new.
func (c *refcounts) add(node uint32) (first bool) {
	s := c.slot(node)
	if s.n > 0 {
		s.n++
		return false
	}
	if c.live++; c.live*4 > len(c.slots)*3 {
		c.resize(len(c.slots) * 2)
		s = c.slot(node)
	}
	*s = entry{node, 1}
	return true
}

// remove reverts one add and reports whether the node is no longer present. The table shrinks when
// only an eighth of it is used, so that the copy costs less than the removals before it.
func (c *refcounts) remove(node uint32) (last bool) {
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

// vacate empties the node's slot. It moves later entries into the gap if a search would no longer
// find them.
func (c *refcounts) vacate(node uint32) {
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
	c.slots[gap] = entry{}
}

func (c *refcounts) resize(size int) {
	old := c.slots
	c.slots = make([]entry, size)
	for _, s := range old {
		if s.n > 0 {
			*c.slot(s.node) = s
		}
	}
}

// each calls visit once for every node.
func (c *refcounts) each(visit func(entry)) {
	for _, s := range c.slots {
		if s.n > 0 {
			visit(s)
		}
	}
}
