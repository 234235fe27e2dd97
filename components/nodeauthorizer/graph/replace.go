// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// replace deletes what the graph knows of a kind and the list does not, and sets
// what is in the list. Each object is a write of its own: between them readers
// see a world that a sequence of single events could have made. The caller holds
// the lock that puts writers of this kind in order.
func replace[T metav1.Object](g *Graph, kind Kind, list []T, set func(T), remove func(namespace, name string)) {
	gone := map[identity]struct{}{}
	for _, known := range g.known(kind) {
		gone[known] = struct{}{}
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

func (g *Graph) known(kind Kind) []identity {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.state.objects.ofKind(kind)
}
