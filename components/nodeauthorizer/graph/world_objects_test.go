// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
)

func (p worldPod) object(id identity) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name, pod.UID = id.namespace, id.name, types.UID(p.uid)
	pod.Spec.NodeName = p.node
	if p.mirror {
		pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	}
	if p.token {
		withProjected(corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{}})(pod)
	}
	if p.certificate {
		withProjected(corev1.VolumeProjection{PodCertificate: &corev1.PodCertificateProjection{}})(pod)
	}
	if p.driver {
		withVolume(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{}})(pod)
	}
	for _, ref := range p.named {
		nameIn(pod, ref)
	}
	return pod
}

func nameIn(pod *corev1.Pod, ref worldRef) {
	switch ref.kind {
	case Secret:
		pod.Spec.Volumes = append(pod.Spec.Volumes, secretVolume(ref.name))
	case ConfigMap:
		pod.Spec.Volumes = append(pod.Spec.Volumes, configMapVolume(ref.name))
	case PersistentVolumeClaim:
		volume := claimVolume(ref.name)
		if ref.ephemeral {
			volume = ephemeralVolume(ref.name)
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, volume)
	case ResourceClaim:
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{ResourceClaimName: &ref.name})
	case ServiceAccount:
		pod.Spec.ServiceAccountName = ref.name
	}
}

func (v worldVolume) object(name string) *corev1.PersistentVolume {
	volume := &corev1.PersistentVolume{}
	volume.Name = name
	if v.claim.name != "" {
		volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: v.claim.namespace, Name: v.claim.name}
	}
	volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{}
	for i, field := range []**corev1.SecretReference{
		&volume.Spec.CSI.NodePublishSecretRef, &volume.Spec.CSI.NodeStageSecretRef, &volume.Spec.CSI.NodeExpandSecretRef,
	} {
		if i < len(v.secrets) {
			*field = &corev1.SecretReference{Namespace: v.secrets[i].namespace, Name: v.secrets[i].name}
		}
	}
	return volume
}

func (c worldClaim) object(id identity) *corev1.PersistentVolumeClaim {
	claim := claimOf(c.pod, types.UID(c.uid), id.name)
	claim.Namespace = id.namespace
	switch {
	case c.pod == "":
		claim.OwnerReferences = nil
	case c.other && c.uid == "1":
		claim.OwnerReferences[0].Kind = "ReplicaSet"
	case c.other:
		claim.OwnerReferences[0].Controller = nil
	}
	return claim
}

// fill makes the graph agree with the world, by lists.
func (w *world) fill(g *Graph) {
	var pods []*corev1.Pod
	for id, pod := range w.pods {
		pods = append(pods, pod.object(id))
	}
	var volumes []*corev1.PersistentVolume
	for name, volume := range w.volumes {
		volumes = append(volumes, volume.object(name))
	}
	var claims []*corev1.PersistentVolumeClaim
	for id, claim := range w.claims {
		claims = append(claims, claim.object(id))
	}
	replace(g, Pod, g.SetPod, pods...)
	replace(g, PersistentVolume, g.SetPersistentVolume, volumes...)
	replace(g, PersistentVolumeClaim, g.SetPersistentVolumeClaim, claims...)
	w.fillDirect(g)
}

// fillDirect does the same for objects that name their node directly.
func (w *world) fillDirect(g *Graph) {
	var attachments []*storagev1.VolumeAttachment
	for name, node := range w.attachments {
		attachments = append(attachments, attachmentTo(node, name))
	}
	var slices []*resourcev1.ResourceSlice
	for name, node := range w.slices {
		slices = append(slices, sliceOf(node, name))
	}
	var requests []*certificatesv1.PodCertificateRequest
	for id, node := range w.requests {
		requests = append(requests, requestFrom(node, id.namespace, id.name))
	}
	var signing []*certificatesv1.CertificateSigningRequest
	for name, user := range w.signing {
		signing = append(signing, signingBy(user, name))
	}
	var nodes []*corev1.Node
	for name := range w.nodes {
		nodes = append(nodes, nodeNamed(name))
	}
	replace(g, VolumeAttachment, g.SetVolumeAttachment, attachments...)
	replace(g, ResourceSlice, g.SetResourceSlice, slices...)
	replace(g, PodCertificateRequest, g.SetPodCertificateRequest, requests...)
	replace(g, CertificateSigningRequest, g.SetCertificateSigningRequest, signing...)
	replaceNodes(g, nodes...)
}

// tellEnded ends the pods in a new graph, because lists do not.
func (w *world) tellEnded(g *Graph) {
	for id, pod := range w.pods {
		if pod.ended {
			g.EndPod(id.namespace, id.name, types.UID(pod.uid))
		}
	}
}
