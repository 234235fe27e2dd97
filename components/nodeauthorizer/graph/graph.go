// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"sync"
)

// Graph relates objects to nodes. Use [New]. All methods are safe for concurrent
// use; what was set before a question is asked counts in its answer.
type Graph struct {
	judgement *judgement
	// kept are the flags that some answer depends on. No other is stored.
	kept edgeFlags

	// pods puts writers of claims in order as well: a pod and its claims are
	// compared with each other.
	pods    podWriter
	volumes volumeWriter
	// direct has one lock for each kind that names its node itself.
	direct      [kindCount]sync.Mutex
	registering sync.Mutex

	// mu guards the state below. Writers hold it for one object at a time, so that
	// replacing a hundred thousand pods does not stop the answers. The locks
	// above put writers of the same kind in order, and are taken before it.
	mu    sync.RWMutex
	state state
}

// state is everything that is known. It is guarded by Graph.mu.
type state struct {
	objects objects
	// nodes numbers the names of nodes that something is bound to or that have a
	// Node object.
	nodes      names
	registered int
	pods       arena[boundPod]
	volumes    arena[boundVolume]
	owners     arena[claimOwner]
	edges      int
}

// New makes a graph in which nothing is related to anything.
func New(options Options) *Graph {
	return &Graph{
		judgement: newJudgement(options),
		kept:      options.kept(),
		state: state{
			objects: newObjects(),
			nodes:   newNames(),
			pods:    newArena[boundPod](),
			volumes: newArena[boundVolume](),
			owners:  newArena[claimOwner](),
		},
	}
}

// reach counts one more reason why the object is related to the node.
func (s *state) reach(id objectID, node uint32) {
	object := s.objects.at(id)
	if object.nodes.add(node) && object.kind == PersistentVolumeClaim {
		s.eachVolumeOf(object, func(volume *boundVolume) { s.reachSecrets(volume.secrets, object.flags, node) })
	}
}

// unreach takes back one reach.
func (s *state) unreach(id objectID, node uint32) {
	object := s.objects.at(id)
	if object.nodes.remove(node) && object.kind == PersistentVolumeClaim {
		s.eachVolumeOf(object, func(volume *boundVolume) { s.unreachSecrets(volume.secrets, object.flags, node) })
	}
}

func (s *state) reachAll(ids []objectID, node uint32) {
	for _, id := range ids {
		s.reach(id, node)
	}
}

func (s *state) unreachAll(ids []objectID, node uint32) {
	for _, id := range ids {
		s.unreach(id, node)
	}
}

// reachSecrets hands a claim's node on to the secrets of a volume. Nobody's list
// holds a secret under the claim's flags, so each node does.
func (s *state) reachSecrets(ids []objectID, claim edgeFlags, node uint32) {
	for _, id := range ids {
		if under := claim.handedOn(); under != 0 {
			id = s.objects.intern(s.objects.at(id).under(under))
			s.objects.hold(id)
		}
		s.reach(id, node)
	}
}

// unreachSecrets takes back one reachSecrets.
func (s *state) unreachSecrets(ids []objectID, claim edgeFlags, node uint32) {
	under := claim.handedOn()
	if under == 0 {
		s.unreachAll(ids, node)
		return
	}
	for _, id := range ids {
		marked := s.objects.findKey(s.objects.at(id).under(under))
		s.unreach(marked, node)
		s.objects.release(marked)
	}
}

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
