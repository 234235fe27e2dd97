// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import "sync"

// Graph relates objects to nodes. Use [New]. All methods are safe for concurrent
// use; what was set before a question is asked counts in its answer.
type Graph struct {
	judgement *judgement
	// kept are the marks that some answer depends on. No other is stored.
	kept marks

	// pods puts writers of claims in order as well: a pod and its claims are
	// compared with each other.
	pods        podWriter
	volumes     volumeWriter
	attachments sync.Mutex
	slices      sync.Mutex
	requests    sync.Mutex
	signing     sync.Mutex
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
	pods       slab[boundPod]
	volumes    slab[boundVolume]
	owners     slab[claimOwner]
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
			pods:    newSlab[boundPod](),
			volumes: newSlab[boundVolume](),
			owners:  newSlab[claimOwner](),
		},
	}
}

// reach counts one more reason why the object is related to the node.
func (s *state) reach(id objectID, node uint32) {
	object := s.objects.at(id)
	if object.nodes.add(node) && object.kind == PersistentVolumeClaim {
		s.eachVolumeOf(object, func(volume *boundVolume) { s.reachSecrets(volume.secrets, object.marks, node) })
	}
}

// unreach takes back one reach.
func (s *state) unreach(id objectID, node uint32) {
	object := s.objects.at(id)
	if object.nodes.remove(node) && object.kind == PersistentVolumeClaim {
		s.eachVolumeOf(object, func(volume *boundVolume) { s.unreachSecrets(volume.secrets, object.marks, node) })
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
// holds a secret under the claim's marks, so each node does.
func (s *state) reachSecrets(ids []objectID, claim marks, node uint32) {
	for _, id := range ids {
		if under := claim.handedOn(); under != 0 {
			id = s.objects.intern(s.objects.at(id).under(under))
			s.objects.hold(id)
		}
		s.reach(id, node)
	}
}

// unreachSecrets takes back one reachSecrets.
func (s *state) unreachSecrets(ids []objectID, claim marks, node uint32) {
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
