// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import "k8s.io/apimachinery/pkg/types"

// Retain deletes every object of the kind that is not in keep. When every object of a list is set
// and then retained, the graph agrees with the list. Each deletion is a separate write. So between
// the deletions, readers see a state that single events could also have made.
func (g *Graph) Retain(kind Kind, keep map[types.NamespacedName]struct{}) {
	switch kind {
	case Pod:
		g.pods.Lock()
		defer g.pods.Unlock()
		retain(g.known(Pod), keep, g.deletePod)
	case PersistentVolumeClaim:
		g.pods.Lock()
		defer g.pods.Unlock()
		retain(g.known(claimRecord), keep, g.deleteClaim)
	case PersistentVolume:
		g.volumes.Lock()
		defer g.volumes.Unlock()
		retain(g.known(PersistentVolume), keep, g.deleteVolume)
	case VolumeAttachment, ResourceSlice, PodCertificateRequest, CertificateSigningRequest:
		g.direct[kind].Lock()
		defer g.direct[kind].Unlock()
		retain(g.known(kind), keep, func(namespace, name string) { g.unbind(kind, namespace, name) })
	default:
		// Nothing is set for the other kinds, such as Secret. Pods and volumes refer to them.
	}
}

// RetainNodes removes the registration of every node that is not in keep.
func (g *Graph) RetainNodes(keep map[types.NamespacedName]struct{}) {
	g.registering.Lock()
	defer g.registering.Unlock()
	retain(g.registeredNodes(), keep, g.unregister)
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
