// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// HasEnded reports whether no container of the pod runs any more or will run
// again: its phase is Succeeded or Failed.
func HasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// EndPod puts what the pod leads to under the condition Ended: its secrets,
// config maps and account, and the secrets of its volumes. Its claims, their
// volumes and the pod itself stay as they are.
//
// It holds for that UID, whatever phase a later [Graph.SetPod] of the same UID
// shows, until the pod is deleted: a node writes the phase, and must not be able to
// take it back. Nothing happens if the pod is not known or has another UID.
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

// mark drops the flags that are not kept and adds those that the pod does not
// account for alone.
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

// remark stores the pod anew, with what it names under other flags.
func (s *state) remark(self objectID, pod boundPod, next func(key) edgeFlags) {
	holds := make([]objectID, len(pod.holds))
	for i, id := range pod.holds {
		known := s.objects.at(id).key
		holds[i] = s.objects.intern(known.under(next(known)))
	}
	holds = distinct(holds)
	if slices.Equal(holds, pod.holds) {
		*s.pods.at(s.objects.at(self).detail) = pod
		return
	}
	pod.holds = holds
	s.nodes.hold(pod.node)
	s.rebind(self, pod)
}

// accountFlags says for what of its account a pod with these volumes has no use.
//
// A kubelet requests tokens for projected volumes that ask for one, and for CSI
// drivers that do (CSIDriver.spec.tokenRequests). The graph does not know the
// drivers, and not which of them is behind a claim, so every pod with such a
// volume counts, and so does one with a volume of a plugin that the kubelet
// replaces by a driver (pkg/volume/csimigration/plugin_manager.go). It reads the account itself,
// for its UID, only to request a
// certificate for the pod (KEP-4317).
//
// What the kubelet's credential providers need is a setting of the kubelet and
// not of the pod: [Options].CredentialProviders.
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

// isMigrated reports whether a CSI driver mounts what the pod asks an old plugin
// for.
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
