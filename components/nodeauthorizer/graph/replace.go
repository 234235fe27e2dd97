// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// replace deletes what the graph knows and the list does not, and sets
// what is in the list. Each object is a write of its own: between them readers
// see a world that a sequence of single events could have made. The caller holds
// the lock that puts writers of this kind in order.
func replace[T metav1.Object](known []identity, list []T, set func(T), remove func(namespace, name string)) {
	gone := map[identity]struct{}{}
	for _, one := range known {
		gone[one] = struct{}{}
	}
	for _, item := range list {
		delete(gone, identity{item.GetNamespace(), item.GetName()})
	}
	for stale := range gone {
		remove(stale.namespace, stale.name)
	}
	for _, item := range list {
		set(item)
	}
}

// RetainPods forgets every pod that is not in keep. With [Graph.SetPod] for each
// pod before it, it does what [Graph.ReplacePods] does, and nobody needs to hold
// all pods at once.
func (g *Graph) RetainPods(keep map[types.NamespacedName]struct{}) {
	g.pods.Lock()
	defer g.pods.Unlock()
	retain(g.known(Pod), keep, g.deletePod)
}

// RetainPersistentVolumes is to volumes what [Graph.RetainPods] is to pods.
func (g *Graph) RetainPersistentVolumes(keep map[types.NamespacedName]struct{}) {
	g.volumes.Lock()
	defer g.volumes.Unlock()
	retain(g.known(PersistentVolume), keep, g.deleteVolume)
}

func retain(known []identity, keep map[types.NamespacedName]struct{}, remove func(namespace, name string)) {
	for _, one := range known {
		if _, kept := keep[types.NamespacedName{Namespace: one.namespace, Name: one.name}]; !kept {
			remove(one.namespace, one.name)
		}
	}
}

// known lists what is stored of one kind.
func (g *Graph) known(kind Kind) []identity {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.state.objects.ofKind(kind)
}
