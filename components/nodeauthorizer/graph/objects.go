// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"hash/maphash"
	"math/bits"
)

// objectID numbers an object for as long as something holds it. 0 is none.
type objectID = uint32

// key is an object's identity: a name in a numbered namespace. Objects without a
// namespace have the number of the empty string.
type key struct {
	name      string
	namespace uint32
	kind      Kind
	flags     edgeFlags
}

// under is the key of the same thing under other flags.
func (k key) under(set edgeFlags) key {
	k.flags = set
	return k
}

// object is what is known of a thing that somebody names. The thing itself need
// not exist.
type object struct {
	key
	// holders counts the stored lists that have this object in them; of the secret of
	// a volume under edgeFlags, also the nodes that it has from a claim.
	holders uint32
	// detail is the number of the pod's, volume's or owner's own record; for a claim
	// without flags, of the first volume that is bound to it.
	detail uint32
	nodes  counts
}

// objects is the table of all objects that are held.
type objects struct {
	arena[object]
	seed       maphash.Seed
	index      index
	namespaces names
	// tally counts the objects of each kind under each set of flags, and present has
	// a bit for each set under which there are any: nobody looks for the others.
	tally   [storedKinds][flagSets]int
	present [storedKinds]uint32
}

func newObjects() objects {
	return objects{arena: newArena[object](), seed: maphash.MakeSeed(), namespaces: newNames()}
}

// find returns 0 when nothing names such an object.
func (o *objects) find(kind Kind, namespace, name string) objectID {
	number, ok := o.namespaces.find(namespace)
	if !ok {
		return 0
	}
	return o.findKey(key{name: name, namespace: number, kind: kind})
}

func (o *objects) findKey(k key) objectID {
	return o.findHash(o.hash(k), k)
}

// hash mixes a hash of the name with the rest. To hash all of the key by
// maphash.Comparable takes twice as long, and is most of what a question takes. The
// seed is secret, so names cannot be chosen to collide.
func (o *objects) hash(k key) uint64 {
	rest := uint64(k.namespace)<<16 | uint64(k.kind)<<8 | uint64(k.flags)
	high, low := bits.Mul64(maphash.String(o.seed, k.name)^rest, 0x9e3779b97f4a7c15)
	return high ^ low
}

func (o *objects) findHash(hash uint64, k key) objectID {
	slots, short := o.index.search(hash)
	for at := int(short); slots != nil; at++ {
		slot := slots[at&(len(slots)-1)]
		if slot.id == 0 {
			break
		}
		if slot.hash == short && o.at(slot.id).key == k {
			return slot.id
		}
	}
	return 0
}

// intern finds the object or makes it. A new object has no holders: the caller
// must hold it before anything is released.
func (o *objects) intern(k key) objectID {
	hash := o.hash(k)
	if id := o.findHash(hash, k); id != 0 {
		return id
	}
	id := o.put(object{key: k})
	o.index.add(hash, id)
	o.namespaces.hold(k.namespace)
	o.tally[k.kind][k.flags]++
	o.present[k.kind] |= 1 << k.flags
	return id
}

// internNamed is intern for a namespace that need not have a number yet.
func (o *objects) internNamed(kind Kind, named identity) objectID {
	namespace := o.namespaces.acquire(named.namespace)
	defer o.namespaces.release(namespace)
	return o.intern(key{name: named.name, namespace: namespace, kind: kind})
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
	o.index.remove(o.hash(k), id)
	o.drop(id)
	if o.tally[k.kind][k.flags]--; o.tally[k.kind][k.flags] == 0 {
		o.present[k.kind] &^= 1 << k.flags
	}
	o.namespaces.release(k.namespace)
}

// identity is an object's namespace and name.
type identity struct{ namespace, name string }

// ofKind lists what is held of one kind that is stored without flags.
func (o *objects) ofKind(kind Kind) []identity {
	found := make([]identity, 0, o.tally[kind][0])
	for id := uint32(1); id < o.end && len(found) < cap(found); id++ {
		object := o.at(id)
		if object.holders > 0 && object.kind == kind {
			found = append(found, identity{o.namespaces.entries[object.namespace].name, object.name})
		}
	}
	return found
}

// Kind says what sort of object a question is about.
type Kind uint8

// The kinds of objects that can be related to a node.
const (
	Secret Kind = iota
	ConfigMap
	PersistentVolumeClaim
	PersistentVolume
	ResourceClaim
	ServiceAccount
	VolumeAttachment
	ResourceSlice
	PodCertificateRequest
	Pod
	// ServiceAccountToken is asked with the namespace and name of the account: it is
	// the right to request the account's tokens.
	ServiceAccountToken
	CertificateSigningRequest

	kindCount = iota

	// claimRecord is stored for who owns a claim, and cannot be asked about.
	claimRecord = Kind(kindCount)
	storedKinds = kindCount + 1
)

var kindNames = [kindCount]string{
	Secret:                    "secret",
	ConfigMap:                 "configmap",
	PersistentVolumeClaim:     "persistentvolumeclaim",
	PersistentVolume:          "persistentvolume",
	ResourceClaim:             "resourceclaim",
	ServiceAccount:            "serviceaccount",
	VolumeAttachment:          "volumeattachment",
	ResourceSlice:             "resourceslice",
	PodCertificateRequest:     "podcertificaterequest",
	Pod:                       "pod",
	ServiceAccountToken:       "serviceaccounttoken",
	CertificateSigningRequest: "certificatesigningrequest",
}

// String is the kind's name in lower case and singular, as metrics label it.
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return "unknown"
	}
	return kindNames[k]
}

// Kinds lists every kind.
func Kinds() []Kind {
	kinds := make([]Kind, kindCount)
	for i := range kinds {
		kinds[i] = Kind(i)
	}
	return kinds
}
