// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"math/rand/v2"
	"testing"
)

// The hashes collide intentionally: in the shard, in the home slot, and completely.
func TestIndexFindsOnlyItsEntries(t *testing.T) {
	for seed := range uint64(20) {
		d := rand.New(rand.NewPCG(seed, 1))
		var x index
		in := map[objectID]uint64{}
		for id := objectID(1); id < 3000; id++ {
			hash := d.Uint64N(3) | d.Uint64N(1<<uint(d.IntN(14)))<<32
			x.add(hash, id)
			in[id] = hash
			for gone, hash := range in {
				if d.IntN(5) > 1 {
					break
				}
				x.remove(hash, gone)
				delete(in, gone)
				if find(&x, hash, gone) != 0 {
					t.Fatalf("seed %d: number %d is found after it was removed", seed, gone)
				}
			}
		}
		for id, hash := range in {
			if find(&x, hash, id) != id {
				t.Fatalf("seed %d: number %d is not found", seed, id)
			}
			x.remove(hash, id)
		}
		for i := range x.shards {
			if x.shards[i].slots != nil {
				t.Fatalf("seed %d: shard %d keeps %d slots for nothing", seed, i, len(x.shards[i].slots))
			}
		}
	}
}

func find(x *index, hash uint64, id objectID) objectID {
	slots, from := x.search(hash)
	for at := int(from); slots != nil && slots[at&(len(slots)-1)].id != 0; at++ {
		if slots[at&(len(slots)-1)].id == id {
			return id
		}
	}
	return 0
}

func TestIndexShrinks(t *testing.T) {
	var x index
	const many = 10000
	hashOf := func(id objectID) uint64 { return uint64(id*2654435769) << 32 }
	for id := objectID(1); id <= many; id++ {
		x.add(hashOf(id), id)
	}
	for id := objectID(1); id < many-10; id++ {
		x.remove(hashOf(id), id)
	}
	if slots := len(x.shards[0].slots); slots > 128 {
		t.Errorf("%d slots for 11 numbers", slots)
	}
}

// A name that exists in every namespace, in every kind or under all flags must be spread over many
// slots.
func TestHashesOfOneNameAreSpread(t *testing.T) {
	o := newObjects()
	for name, keyOf := range map[string]func(i uint32) key{
		"namespaces": func(i uint32) key { return key{name: "default", namespace: i} },
		"flags": func(i uint32) key {
			return key{name: "default", namespace: i / flagSets, flags: edgeFlags(i % flagSets)}
		},
		"kinds": func(i uint32) key { return key{name: "default", namespace: i / kindCount, kind: Kind(i % kindCount)} },
	} {
		const many = 64 * shardCount
		shards, homes := map[uint64]int{}, map[uint64]int{}
		for i := range uint32(many) {
			hash := o.hash(keyOf(i))
			shards[hash%shardCount]++
			homes[hash>>32%many]++
		}
		// With a random function and 64 entries per shard on average, the fullest shard has about
		// 90, and 10,400 home slots are used.
		for shard, n := range shards {
			if n > 160 {
				t.Errorf("%s: shard %d has %d of %d", name, shard, n, many)
			}
		}
		if len(homes) < many/2 {
			t.Errorf("%s: %d have only %d homes", name, many, len(homes))
		}
	}
}
