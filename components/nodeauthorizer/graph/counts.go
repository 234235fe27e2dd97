// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

// counts is a multiset of nodes. Most objects are related to one node only, so
// that case takes no allocation.
type counts struct {
	// node has been added n times, unless n is 0.
	node uint32
	n    uint32
	// many, when set, holds everything instead, and has two nodes at least.
	many *crowd
}

// has reports whether the node is in the multiset.
func (c *counts) has(node uint32) bool {
	if c.many != nil {
		return c.many.has(node)
	}
	return c.n > 0 && c.node == node
}

// single returns the node that is in, if just one is.
func (c *counts) single() (node uint32, ok bool) {
	return c.node, c.many == nil && c.n > 0
}

// add puts the node in once more and reports whether it was not there before.
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
		c.many = newCrowd(headcount{c.node, c.n}, headcount{node, 1})
		c.node, c.n = 0, 0
		return true
	}
}

// remove takes back one add and reports whether the node is gone now.
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

// collapse goes back to the form for one node, so that an object that was once
// on many nodes does not stay large.
func (c *counts) collapse() {
	c.many.each(func(left headcount) { c.node, c.n = left.node, left.n })
	c.many = nil
}

// each calls visit once for every node in the multiset.
func (c *counts) each(visit func(node uint32)) {
	switch {
	case c.many != nil:
		c.many.each(func(s headcount) { visit(s.node) })
	case c.n > 0:
		visit(c.node)
	}
}
