// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"sync"
)

// Graph relates objects to nodes. Use [New]. All methods are safe for concurrent use. A query sees
// every write that returned before the query started.
type Graph struct {
	judgement *judgement
	// kept are the flags that can change an answer. No other flag is stored.
	kept edgeFlags

	// pods also orders the writers of claims, because pods and their claims are compared with each
	// other.
	pods    podWriter
	volumes volumeWriter
	// direct has one lock for each kind whose objects name their node directly.
	direct      [kindCount]sync.Mutex
	registering sync.Mutex

	// mu guards state. Writers lock it for one object at a time, so that a replacement of a hundred
	// thousand pods does not block queries. The locks above order the writers of one kind. They are
	// taken before mu.
	mu    sync.RWMutex
	state state
}

// state is all data of the graph. It is guarded by Graph.mu.
type state struct {
	objects objects
	// nodes numbers the names of nodes that have a related object or a Node object.
	nodes      names
	registered int
	pods       arena[boundPod]
	volumes    arena[boundVolume]
	owners     arena[claimOwner]
	edges      int
}

// New returns a graph without relations.
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

// reach adds one reference that relates the object to the node.
func (s *state) reach(id objectID, node uint32) {
	object := s.objects.at(id)
	if object.nodes.add(node) && object.kind == PersistentVolumeClaim {
		s.eachVolumeOf(object, func(volume *boundVolume) { s.reachSecrets(volume.secrets, object.flags, node) })
	}
}

// unreach reverts one reach.
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

// reachSecrets relates the secrets of a volume to a node of its claim. If the claim's flags apply
// to the secrets, no list of a volume holds the flagged secret. So each node holds it instead.
func (s *state) reachSecrets(ids []objectID, claim edgeFlags, node uint32) {
	for _, id := range ids {
		if under := claim.handedOn(); under != 0 {
			id = s.objects.intern(s.objects.at(id).under(under))
			s.objects.retain(id)
		}
		s.reach(id, node)
	}
}

// unreachSecrets reverts one reachSecrets.
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
	// Objects counts, for each [Kind], the objects to which something refers, even if they do not
	// exist. Objects without a reference are not counted. An object that is referred to under
	// several conditions counts once for each. Tokens count as their account.
	Objects [kindCount]int
	// Nodes counts the nodes that have a related object or a Node object.
	Nodes int
	// Registered counts the nodes that have a Node object.
	Registered int
	// OwnedClaims counts the claims whose controller is a pod, if a rule uses them.
	OwnedClaims int
	// Namespaces counts the namespaces of all objects. Objects without a namespace count as one
	// more.
	Namespaces int
	// Edges counts the relations, as the package documentation draws them.
	Edges int
}

// Stats returns the size of the graph, in constant time.
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
