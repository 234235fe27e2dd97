// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import corev1 "k8s.io/api/core/v1"

// SetNode registers the node. Nothing but its name is kept.
func (g *Graph) SetNode(node *corev1.Node) {
	g.registering.Lock()
	defer g.registering.Unlock()
	g.register(node)
}

// DeleteNode takes back that the node is registered. What is bound to it stays
// related to it.
func (g *Graph) DeleteNode(name string) {
	g.registering.Lock()
	defer g.registering.Unlock()
	g.unregister("", name)
}

// ReplaceNodes makes the graph agree with the list: nodes that are not in it are
// not registered any more.
func (g *Graph) ReplaceNodes(nodes []*corev1.Node) {
	g.registering.Lock()
	defer g.registering.Unlock()
	replace(g.registeredNodes(), nodes, g.register, g.unregister)
}

// Registered reports whether a Node object of that name is known. It does not allocate.
func (g *Graph) Registered(node string) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	number, ok := g.state.nodes.find(node)
	return ok && g.state.nodes.entries[number].registered
}

func (g *Graph) register(node *corev1.Node) {
	// A kubelet updates its node every few minutes at least.
	if g.Registered(node.Name) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s := &g.state
	s.nodes.entries[s.nodes.acquire(node.Name)].registered = true
	s.registered++
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
