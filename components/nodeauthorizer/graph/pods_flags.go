// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// HasEnded reports whether the pod's phase is Succeeded or Failed: no container of the pod runs or
// will run again.
func HasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// EndPod puts some references of the pod under the condition Ended: its secrets, config maps and
// account, and the secrets of its volumes. Its claims, their volumes and the pod itself do not
// change.
//
// The condition applies to that UID until the pod is deleted, even if a later [Graph.SetPod] of the
// same UID shows another phase. A node writes the phase, so it must not be able to revert the
// condition. EndPod does nothing if the pod is not known or has another UID.
func (g *Graph) EndPod(namespace, name string, uid types.UID) {
	if g.kept&ended == 0 {
		return
	}
	g.pods.Lock()
	defer g.pods.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	s := &g.state
	self := s.objects.find(Pod, namespace, name)
	if self == 0 {
		return
	}
	pod := *s.pods.at(s.objects.at(self).detail)
	if pod.uid != uid || pod.ended {
		return
	}
	pod.ended = true
	s.remark(self, pod, func(k key) edgeFlags {
		if endable[k.kind] {
			return k.flags | ended
		}
		return k.flags
	})
}

// mark removes the flags that are not kept. It also sets the flags that do not follow from the pod
// alone: who owns a claim, and that the pod has ended.
func (s *state) mark(refs references, pod *corev1.Pod, kept edgeFlags, hasEnded bool) {
	for i := range refs {
		ref := &refs[i]
		ref.flags &= kept
		if ref.flags&unowned != 0 && s.owns(pod.Name, pod.UID, identity{pod.Namespace, ref.name}) {
			ref.flags = owned
		}
		if hasEnded && endable[ref.kind] {
			ref.flags |= ended
		}
	}
}

// remark stores the pod again, with new flags for its references.
func (s *state) remark(self objectID, pod boundPod, next func(key) edgeFlags) {
	objectIDs := make([]objectID, len(pod.objectIDs))
	for i, id := range pod.objectIDs {
		known := s.objects.at(id).key
		objectIDs[i] = s.objects.intern(known.under(next(known)))
	}
	objectIDs = distinct(objectIDs)
	if slices.Equal(objectIDs, pod.objectIDs) {
		*s.pods.at(s.objects.at(self).detail) = pod
		return
	}
	pod.objectIDs = objectIDs
	s.nodes.retain(pod.node)
	s.rebind(self, pod)
}

// accountFlags returns which uses of its account a pod with these volumes does not need.
//
// A kubelet requests tokens for projected volumes with a token source, and for CSI drivers with
// CSIDriver.spec.tokenRequests. The graph does not know the drivers, nor which driver provides a
// claim. So every pod with such a volume counts as a user of tokens. So does a pod with a volume of
// an in-tree plugin that the kubelet replaces with a CSI driver
// (pkg/volume/csimigration/plugin_manager.go). The kubelet reads the account object, for its UID,
// only to request a certificate for the pod (KEP-4317).
//
// What the kubelet's credential providers need depends on the kubelet, not on the pod: see
// [Options].CredentialProviders.
func accountFlags(volumes []corev1.Volume) edgeFlags {
	useless := unreadable | tokenless
	for i := range volumes {
		switch source := &volumes[i].VolumeSource; {
		case source.Projected != nil:
			useless &^= usedBy(source.Projected.Sources)
		case source.CSI != nil, source.PersistentVolumeClaim != nil, source.Ephemeral != nil, isMigrated(source):
			useless &^= tokenless
		}
	}
	return useless
}

// isMigrated reports whether a CSI driver mounts the volume in place of an in-tree plugin.
func isMigrated(source *corev1.VolumeSource) bool {
	return source.AWSElasticBlockStore != nil || source.AzureDisk != nil || source.AzureFile != nil ||
		source.Cinder != nil ||
		source.GCEPersistentDisk != nil || source.PortworxVolume != nil || source.VsphereVolume != nil
}

func usedBy(sources []corev1.VolumeProjection) edgeFlags {
	var used edgeFlags
	for i := range sources {
		if sources[i].ServiceAccountToken != nil {
			used |= tokenless
		}
		if sources[i].PodCertificate != nil {
			used |= unreadable
		}
	}
	return used
}
