// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"hash/maphash"
	"slices"
	"sync/atomic"
)

// registry is the set of the nodes that have a Node object. Whether a node does is
// all that many decisions ask the graph, and takes less time than a lock. So it is
// read without one: what is reachable from a shard never changes, and a writer
// replaces the list of one shard as a whole. Writers are put in order by the caller.
type registry struct {
	seed   maphash.Seed
	shards [registryShards]atomic.Pointer[[]registeredNode]
}

// registryShards makes lists of twenty in the largest clusters that Kubernetes is
// made for.
const registryShards = 256

type registeredNode struct {
	hash uint64
	name string
}

func (r *registry) has(name string) bool {
	hash := maphash.String(r.seed, name)
	return indexOf(r.list(hash), hash, name) >= 0
}

// add puts a node in that is not in yet.
func (r *registry) add(name string) {
	hash := maphash.String(r.seed, name)
	// Appending to what has no spare room copies it.
	longer := append(slices.Clip(r.list(hash)), registeredNode{hash, name})
	r.shards[hash%registryShards].Store(&longer)
}

// remove takes a node out that is in.
func (r *registry) remove(name string) {
	hash := maphash.String(r.seed, name)
	old := r.list(hash)
	at := indexOf(old, hash, name)
	shorter := slices.Concat(old[:at], old[at+1:])
	r.shards[hash%registryShards].Store(&shorter)
}

func (r *registry) list(hash uint64) []registeredNode {
	if list := r.shards[hash%registryShards].Load(); list != nil {
		return *list
	}
	return nil
}

func indexOf(list []registeredNode, hash uint64, name string) int {
	for i := range list {
		if list[i].hash == hash && list[i].name == name {
			return i
		}
	}
	return -1
}
