// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// replace makes the graph agree with a list of the kind, as graphsync does.
func replace[T metav1.Object](g *Graph, kind Kind, set func(T), list ...T) {
	g.Retain(kind, setAll(set, list))
}

func replaceNodes(g *Graph, list ...*corev1.Node) { g.RetainNodes(setAll(g.SetNode, list)) }

func setAll[T metav1.Object](set func(T), list []T) map[types.NamespacedName]struct{} {
	keep := map[types.NamespacedName]struct{}{}
	for _, object := range list {
		set(object)
		keep[types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}] = struct{}{}
	}
	return keep
}

// podOn returns a pod in namespace ns that is bound to the node.
func podOn(node, name string, volumes ...corev1.Volume) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name, pod.UID = "ns", name, types.UID("uid-of-"+name)
	pod.Spec.NodeName = node
	pod.Spec.Volumes = volumes
	return pod
}

// volumeFor returns a CSI volume that is bound to a claim in namespace ns. Its node stage secret is
// in namespace csi.
func volumeFor(claim, name, secret string) *corev1.PersistentVolume {
	volume := &corev1.PersistentVolume{}
	volume.Name = name
	volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "ns", Name: claim}
	volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{
		NodeStageSecretRef: &corev1.SecretReference{Namespace: "csi", Name: secret},
	}
	return volume
}

func attachmentTo(node, name string) *storagev1.VolumeAttachment {
	attachment := &storagev1.VolumeAttachment{}
	attachment.Name = name
	attachment.Spec.NodeName = node
	return attachment
}

func sliceOf(node, name string) *resourcev1.ResourceSlice {
	slice := &resourcev1.ResourceSlice{}
	slice.Name = name
	if node != "" {
		slice.Spec.NodeName = &node
	}
	return slice
}

func requestFrom(node, namespace, name string) *certificatesv1.PodCertificateRequest {
	request := &certificatesv1.PodCertificateRequest{}
	request.Namespace, request.Name = namespace, name
	request.Spec.NodeName = types.NodeName(node)
	return request
}

func secretVolume(name string) corev1.Volume {
	return corev1.Volume{VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: name},
	}}
}

func configMapVolume(name string) corev1.Volume {
	return corev1.Volume{VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
	}}
}

func claimVolume(name string) corev1.Volume {
	return corev1.Volume{VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
	}}
}

// ephemeralVolume returns a volume whose claim has the name of the pod and of the volume.
func ephemeralVolume(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}
}

// claimOf returns a claim in namespace ns whose controller is a pod.
func claimOf(pod string, uid types.UID, name string) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{}
	claim.Namespace, claim.Name = "ns", name
	claim.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "Pod", Name: pod, UID: uid, Controller: ptr.To(true),
	}}
	return claim
}

func nodeNamed(name string) *corev1.Node {
	node := &corev1.Node{}
	node.Name = name
	return node
}

func signingBy(user, name string) *certificatesv1.CertificateSigningRequest {
	request := &certificatesv1.CertificateSigningRequest{}
	request.Name = name
	request.Spec.Username = user
	return request
}
