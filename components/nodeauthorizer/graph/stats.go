// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

// Stats is the size of a graph.
type Stats struct {
	// Objects counts, for each [Kind], the objects that something names. They need
	// not exist, and objects that nothing names are not counted. One that is named
	// under several conditions counts for each, and tokens count as their account.
	Objects [kindCount]int
	// Nodes counts the nodes to which something is bound or that have a Node object.
	Nodes int
	// Registered counts the nodes that have a Node object.
	Registered int
	// OwnedClaims counts the claims that a pod controls, if anything depends on them.
	OwnedClaims int
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
	stats := Stats{
		Nodes:       len(g.state.nodes.numbers),
		Registered:  g.state.registered,
		OwnedClaims: g.state.owners.len(),
		Namespaces:  len(g.state.objects.namespaces.numbers),
		Edges:       g.state.edges,
	}
	for kind := range stats.Objects {
		for _, count := range g.state.objects.tally[kind] {
			stats.Objects[kind] += count
		}
	}
	return stats
}
