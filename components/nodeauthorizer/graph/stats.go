// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

// Stats is the size of a graph.
type Stats struct {
	// Objects counts, for each [Kind], the objects that something names. They need
	// not exist, and objects that nothing names are not counted.
	Objects [kindCount]int
	// Nodes counts the nodes to which something is bound.
	Nodes int
	// Namespaces counts the namespaces of all objects; objects without one count
	// as one more.
	Namespaces int
	// Edges counts the relations as the package's picture draws them.
	Edges int
}

// Stats measures the graph, in constant time.
func (g *Graph) Stats() Stats {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return Stats{
		Objects:    g.state.objects.perKind,
		Nodes:      len(g.state.nodes.numbers),
		Namespaces: len(g.state.objects.namespaces.numbers),
		Edges:      g.state.edges,
	}
}
