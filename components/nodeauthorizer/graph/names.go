// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	corev1 "k8s.io/api/core/v1"
)

// names assigns small numbers to strings. A string keeps its number while it has holders. After
// that, the number is reused for another string.
type names struct {
	numbers map[string]uint32
	entries []nameEntry
	free    []uint32
}

type nameEntry struct {
	name     string
	refcount uint32
	// registered is for node names only: the node has a Node object.
	registered bool
}

func newNames() names {
	return names{numbers: map[string]uint32{}}
}

func (n *names) find(name string) (uint32, bool) {
	number, ok := n.numbers[name]
	return number, ok
}

// acquire returns the number of a string, creates it if needed, and adds one holder.
func (n *names) acquire(name string) uint32 {
	number, ok := n.numbers[name]
	if !ok {
		number = n.unused()
		n.entries[number].name = name
		n.numbers[name] = number
	}
	n.entries[number].refcount++
	return number
}

func (n *names) unused() uint32 {
	if last := len(n.free) - 1; last >= 0 {
		number := n.free[last]
		n.free = n.free[:last]
		return number
	}
	n.entries = append(n.entries, nameEntry{})
	return uint32(len(n.entries) - 1) //nolint:gosec // a cluster has fewer than 2^32 names
}

// retain adds one holder to a number that already has a holder.
func (n *names) retain(number uint32) {
	n.entries[number].refcount++
}

// release reverts one acquire or retain.
func (n *names) release(number uint32) {
	entry := &n.entries[number]
	entry.refcount--
	if entry.refcount > 0 {
		return
	}
	delete(n.numbers, entry.name)
	*entry = nameEntry{}
	n.free = append(n.free, number)
}

// SetNode registers the node. The graph keeps only its name.
func (g *Graph) SetNode(node *corev1.Node) {
	g.registering.Lock()
	defer g.registering.Unlock()
	// A kubelet updates its Node at least every few minutes. Such an update takes no write lock.
	if g.Registered(node.Name) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s := &g.state
	s.nodes.entries[s.nodes.acquire(node.Name)].registered = true
	s.registered++
}

// DeleteNode removes the registration of the node. Objects that are related to it stay related.
func (g *Graph) DeleteNode(name string) {
	g.registering.Lock()
	defer g.registering.Unlock()
	g.unregister("", name)
}

// Registered reports whether a Node object of that name is known.
func (g *Graph) Registered(node string) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	number, ok := g.state.nodes.find(node)
	return ok && g.state.nodes.entries[number].registered
}

func (g *Graph) unregister(_, name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := &g.state
	number, ok := s.nodes.find(name)
	if !ok || !s.nodes.entries[number].registered {
		return
	}
	s.nodes.entries[number].registered = false
	s.nodes.release(number)
	s.registered--
}

func (g *Graph) registeredNodes() []identity {
	g.mu.RLock()
	defer g.mu.RUnlock()
	found := make([]identity, 0, g.state.registered)
	for _, entry := range g.state.nodes.entries {
		if entry.registered {
			found = append(found, identity{name: entry.name})
		}
	}
	return found
}
