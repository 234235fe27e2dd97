// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import "math/bits"

// Relation is the relation between an object and a node.
type Relation struct {
	// Related is true if the node may read the object.
	Related bool
	// Condition has two meanings. If the object is not related, it is the enforced condition that
	// prevents the relation. Unconditional then means that no path leads from the object to the
	// node. If the object is related, it is the audited condition that would prevent the relation.
	// Unconditional then means that there is none. If several conditions apply, it is the first in
	// the order of the constants.
	Condition Condition
	// Registered is true if a Node object of that name is known.
	Registered bool
}

// Relation returns how the object is related to the node. For a Pod, related means bound to the
// node. For objects without a namespace, namespace is empty. Relation takes one lock and a small
// number of lookups, for any size of the cluster.
func (g *Graph) Relation(node string, kind Kind, namespace, name string) Relation {
	if kind >= kindCount {
		return Relation{Registered: g.Registered(node)}
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	s := &g.state
	id, k := s.sought(kind, namespace, name)
	counted := &s.objects.at(id).nodes
	// Most objects are on one node. A comparison of node names is faster than a lookup of the
	// number of the requesting node.
	if only, ok := counted.single(); ok && s.nodes.entries[only].name == node {
		return Relation{Related: true, Registered: s.nodes.entries[only].registered}
	}
	number, ok := s.nodes.find(node)
	if !ok {
		return Relation{}
	}
	relation := Relation{Registered: s.nodes.entries[number].registered}
	if counted.has(number) {
		relation.Related = true
	} else if others := s.objects.present[k.kind] &^ 1; others != 0 {
		best := s.bestOf(&g.judgement[kind], others, number, k)
		relation.Related, relation.Condition = best.Related, best.Condition
	}
	return relation
}

// Reaches returns the field Related of [Graph.Relation].
func (g *Graph) Reaches(node string, kind Kind, namespace, name string) bool {
	return g.Relation(node, kind, namespace, name).Related
}

// sought returns the object that counts the nodes without a condition, and its key. For a volume
// that is its claim, for tokens their account. The number is 0 if nothing refers to such an object.
func (s *state) sought(kind Kind, namespace, name string) (objectID, key) {
	if kind == ServiceAccountToken {
		kind = ServiceAccount
	}
	number, ok := s.objects.namespaces.find(namespace)
	if !ok {
		return 0, key{kind: VolumeAttachment}
	}
	k := key{name: name, namespace: number, kind: kind}
	id := s.objects.findKey(k)
	if kind == PersistentVolume && id != 0 {
		id = s.volumes.at(s.objects.at(id).detail).claim
		k = s.objects.at(id).key
	}
	return id, k
}

// bestOf looks up the object under each set of flags whose bit is in sets. It stops at the first
// path to the node without a condition.
func (s *state) bestOf(judged *[flagSets]Relation, sets uint32, node uint32, k key) Relation {
	var best Relation
	for ; sets != 0; sets &= sets - 1 {
		k.flags = edgeFlags(bits.TrailingZeros32(sets)) //nolint:gosec // less than 32
		id := s.objects.findKey(k)
		if id == 0 || !s.objects.at(id).nodes.has(node) {
			continue
		}
		found := judged[k.flags]
		if found.outranks(best) {
			best = found
		}
		if best.Related && best.Condition == Unconditional {
			break
		}
	}
	return best
}

// outranks orders the results of different paths: first related, then related with a condition,
// then refused because of a condition, then no path.
func (r Relation) outranks(other Relation) bool {
	if r.Related != other.Related {
		return r.Related
	}
	if (r.Condition == Unconditional) != (other.Condition == Unconditional) {
		return (r.Condition == Unconditional) == r.Related
	}
	return r.Condition < other.Condition
}
