// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import "hash/maphash"

// objectID numbers an object for as long as something holds it. 0 is none.
type objectID = uint32

// key is an object's identity: a name in a numbered namespace. Objects without a
// namespace have the number of the empty string.
type key struct {
	name      string
	namespace uint32
	kind      Kind
}

// object is what is known of a thing that somebody names. The thing itself need
// not exist.
type object struct {
	key
	// holders counts the stored lists that have this object in them.
	holders uint32
	// detail is the number of the pod's or volume's own record; for a claim, of
	// the first volume that is bound to it.
	detail uint32
	nodes  counts
}

// objects is the table of all objects that are held.
type objects struct {
	slab[object]
	seed       maphash.Seed
	index      index
	namespaces names
	perKind    [kindCount]int
}

func newObjects() objects {
	return objects{slab: newSlab[object](), seed: maphash.MakeSeed(), namespaces: newNames()}
}

// find returns 0 when nothing names such an object.
func (o *objects) find(kind Kind, namespace, name string) objectID {
	number, ok := o.namespaces.find(namespace)
	if !ok {
		return 0
	}
	return o.findKey(key{name, number, kind})
}

func (o *objects) findKey(k key) objectID {
	return o.findHash(maphash.Comparable(o.seed, k), k)
}

func (o *objects) findHash(hash uint64, k key) objectID {
	return o.index.find(hash, func(id objectID) bool { return o.at(id).key == k })
}

// intern finds the object or makes it. A new object has no holders: the caller
// must hold it before anything is released.
func (o *objects) intern(k key) objectID {
	hash := maphash.Comparable(o.seed, k)
	if id := o.findHash(hash, k); id != 0 {
		return id
	}
	id := o.put(object{key: k})
	o.index.add(hash, id)
	o.namespaces.hold(k.namespace)
	o.perKind[k.kind]++
	return id
}

// internNamed is intern for a namespace that need not have a number yet.
func (o *objects) internNamed(kind Kind, named identity) objectID {
	namespace := o.namespaces.acquire(named.namespace)
	defer o.namespaces.release(namespace)
	return o.intern(key{named.name, namespace, kind})
}

func (o *objects) hold(ids ...objectID) {
	for _, id := range ids {
		o.at(id).holders++
	}
}

// release takes back one hold of each. An object that nobody holds vanishes.
func (o *objects) release(ids ...objectID) {
	for _, id := range ids {
		held := o.at(id)
		held.holders--
		if held.holders == 0 {
			o.forget(id, held.key)
		}
	}
}

func (o *objects) forget(id objectID, k key) {
	o.index.remove(maphash.Comparable(o.seed, k), id)
	o.drop(id)
	o.perKind[k.kind]--
	o.namespaces.release(k.namespace)
}

// identity is an object's namespace and name.
type identity struct{ namespace, name string }

// ofKind lists what is held of one kind.
func (o *objects) ofKind(kind Kind) []identity {
	found := make([]identity, 0, o.perKind[kind])
	for id := uint32(1); id < o.end && len(found) < cap(found); id++ {
		object := o.at(id)
		if object.holders > 0 && object.kind == kind {
			found = append(found, identity{o.namespaces.entries[object.namespace].name, object.name})
		}
	}
	return found
}
