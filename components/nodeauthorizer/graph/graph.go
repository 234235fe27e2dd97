// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import "sync"

// Graph relates objects to nodes. Use [New]. All methods are safe for concurrent
// use; what was set before a question is asked counts in its answer.
type Graph struct {
	pods        podWriter
	volumes     volumeWriter
	attachments sync.Mutex
	slices      sync.Mutex
	requests    sync.Mutex

	// mu guards the state below. Writers hold it for one object at a time, so that
	// replacing a hundred thousand pods does not stop the answers. The locks
	// above put writers of the same kind in order, and are taken before it.
	mu    sync.RWMutex
	state state
}

// state is everything that is known. It is guarded by Graph.mu.
type state struct {
	objects objects
	// nodes numbers the names of nodes that something is bound to.
	nodes   names
	pods    slab[boundPod]
	volumes slab[boundVolume]
	edges   int
}

// New makes a graph in which nothing is related to anything.
func New() *Graph {
	return &Graph{state: state{
		objects: newObjects(),
		nodes:   newNames(),
		pods:    newSlab[boundPod](),
		volumes: newSlab[boundVolume](),
	}}
}

// Reaches reports whether the object is related to the node. For a Pod that
// means that it is bound to the node. Objects without a namespace are asked with
// an empty one. It takes the same time for every object and does not allocate.
func (g *Graph) Reaches(node string, kind Kind, namespace, name string) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	s := &g.state
	number, ok := s.nodes.find(node)
	if !ok {
		return false
	}
	id := s.objects.find(kind, namespace, name)
	if id == 0 {
		return false
	}
	if kind == PersistentVolume {
		id = s.volumes.at(s.objects.at(id).detail).claim
	}
	return s.objects.at(id).nodes.has(number)
}

// reach counts one more reason why the object is related to the node.
func (s *state) reach(id objectID, node uint32) {
	object := s.objects.at(id)
	if object.nodes.add(node) && object.kind == PersistentVolumeClaim {
		s.eachVolumeOf(object, func(volume *boundVolume) { s.reachAll(volume.secrets, node) })
	}
}

// unreach takes back one reach.
func (s *state) unreach(id objectID, node uint32) {
	object := s.objects.at(id)
	if object.nodes.remove(node) && object.kind == PersistentVolumeClaim {
		s.eachVolumeOf(object, func(volume *boundVolume) { s.unreachAll(volume.secrets, node) })
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
