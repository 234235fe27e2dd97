// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import "math/bits"

// Relation is what the graph knows about an object and a node.
type Relation struct {
	// Related is true when the node may see the object.
	Related bool
	// Condition is, of an object that is not related, the enforced condition that
	// keeps it from being related; Unconditional means that nothing leads from it to
	// the node at all. Of an object that is related it is the audited condition
	// without which it would not be; Unconditional means none. Where several
	// conditions do, it is the first of them in the order of the constants.
	Condition Condition
	// Registered is true when a Node object of that name is known.
	Registered bool
}

// Relation says how the object is related to the node. For a Pod, related means
// bound to the node. Objects without a namespace are asked with an empty one. It
// takes one lock and, however large the cluster is, a small number of look-ups,
// and it does not allocate.
func (g *Graph) Relation(node string, kind Kind, namespace, name string) Relation {
	if kind >= kindCount {
		return Relation{Registered: g.Registered(node)}
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	s := &g.state
	id, k := s.sought(kind, namespace, name)
	counted := &s.objects.at(id).nodes
	// Most objects are on one node. To compare its name takes less time than to find
	// the number of the node that asks.
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

// Reaches is the Related of [Graph.Relation].
func (g *Graph) Reaches(node string, kind Kind, namespace, name string) bool {
	return g.Relation(node, kind, namespace, name).Related
}

// sought finds what the nodes are counted at when nothing is held against them,
// and the key of that: of a volume its claim, of tokens their account. The number
// is 0 when nothing names such an object.
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

// bestOf asks for the object under each of the given sets of flags, of which
// there is one for each bit, until it finds the node without a condition.
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

// outranks orders what different ways amount to: related before related with a
// condition, before refused for a condition, before nothing at all.
func (r Relation) outranks(other Relation) bool {
	if r.Related != other.Related {
		return r.Related
	}
	if (r.Condition == Unconditional) != (other.Condition == Unconditional) {
		return (r.Condition == Unconditional) == r.Related
	}
	return r.Condition < other.Condition
}
