// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// replace deletes the objects that are in the graph but not in the list, and sets those in the
// list. Each object is a separate write. So between the writes, readers see a state that single
// events could also have made. The caller holds the lock that orders the writers of this kind.
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

// RetainPods removes every pod that is not in keep. After a [Graph.SetPod] for each pod of a list,
// it has the effect of [Graph.ReplacePods], but the caller needs not keep all pods in memory.
func (g *Graph) RetainPods(keep map[types.NamespacedName]struct{}) {
	g.pods.Lock()
	defer g.pods.Unlock()
	retain(g.known(Pod), keep, g.deletePod)
}

// RetainPersistentVolumes does for volumes what [Graph.RetainPods] does for pods.
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
