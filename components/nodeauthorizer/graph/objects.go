// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"hash/maphash"
	"math/bits"
)

// objectID is the number of an object while the object has holders. 0 means none.
type objectID = uint32

// key is an object's identity: a name in a numbered namespace. Objects without a namespace have the
// number of the empty string.
type key struct {
	name      string
	namespace uint32
	kind      Kind
	flags     edgeFlags
}

// under returns the key of the same object with other flags.
func (k key) under(set edgeFlags) key {
	k.flags = set
	return k
}

// object is an object to which something refers. It need not exist in the cluster.
type object struct {
	key
	// refcount counts the stored lists that contain this object. For the flagged secret of a volume,
	// it also counts the nodes that the secret has from a claim.
	refcount uint32
	// detail is the number of the record for a pod, volume or claim owner. For a claim without
	// flags, it is the number of the first volume that is bound to it.
	detail uint32
	nodes  counts
}

// objects is the table of all objects with holders.
type objects struct {
	arena[object]
	seed       maphash.Seed
	index      index
	namespaces names
	// tally counts the objects of each kind and each set of flags. present has one bit for each set
	// of flags that is in use. Queries skip the other sets.
	tally   [storedKinds][flagSets]int
	present [storedKinds]uint32
}

func newObjects() objects {
	return objects{arena: newArena[object](), seed: maphash.MakeSeed(), namespaces: newNames()}
}

// find returns 0 if nothing refers to such an object.
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

// hash combines a hash of the name with the other fields. maphash.Comparable of the whole key would
// take twice as long, and the hash is most of the time of a query. The seed is secret, so a caller
// cannot choose names that collide.
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

// intern returns the object, and creates it if needed. A new object has no holders. The caller must
// call retain before anything is released.
func (o *objects) intern(k key) objectID {
	hash := o.hash(k)
	if id := o.findHash(hash, k); id != 0 {
		return id
	}
	id := o.put(object{key: k})
	o.index.add(hash, id)
	o.namespaces.retain(k.namespace)
	o.tally[k.kind][k.flags]++
	o.present[k.kind] |= 1 << k.flags
	return id
}

// internNamed is intern for a namespace that may not have a number yet.
func (o *objects) internNamed(kind Kind, named identity) objectID {
	namespace := o.namespaces.acquire(named.namespace)
	defer o.namespaces.release(namespace)
	return o.intern(key{name: named.name, namespace: namespace, kind: kind})
}

func (o *objects) retain(ids ...objectID) {
	for _, id := range ids {
		o.at(id).refcount++
	}
}

// release reverts one retain for each object. An object without holders is removed.
func (o *objects) release(ids ...objectID) {
	for _, id := range ids {
		held := o.at(id)
		held.refcount--
		if held.refcount == 0 {
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

// ofKind lists the stored objects of a kind that is stored without flags.
func (o *objects) ofKind(kind Kind) []identity {
	found := make([]identity, 0, o.tally[kind][0])
	for id := uint32(1); id < o.end && len(found) < cap(found); id++ {
		object := o.at(id)
		if object.refcount > 0 && object.kind == kind {
			found = append(found, identity{o.namespaces.entries[object.namespace].name, object.name})
		}
	}
	return found
}

// Kind is the kind of the object in a query.
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
	// ServiceAccountToken is the permission to request the account's tokens. Queries use the
	// namespace and name of the account.
	ServiceAccountToken
	CertificateSigningRequest

	kindCount = iota

	// claimRecord is the kind that stores who owns a claim. Queries cannot use it.
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

// String returns the kind's name in lower case and singular, as in metric labels.
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
