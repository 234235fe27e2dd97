// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// onlyIdentity keeps the fields that identify the object and its version.
func onlyIdentity(meta *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:            meta.Name,
		Namespace:       meta.Namespace,
		UID:             meta.UID,
		ResourceVersion: meta.ResourceVersion,
	}
}

// TrimNode removes, in place, the fields that [Graph.SetNode] does not read.
func TrimNode(node *corev1.Node) {
	*node = corev1.Node{ObjectMeta: onlyIdentity(&node.ObjectMeta)}
}

// TrimPersistentVolumeClaim removes, in place, the fields that [Graph.SetPersistentVolumeClaim]
// does not read.
func TrimPersistentVolumeClaim(claim *corev1.PersistentVolumeClaim) {
	owner := controllingPod(claim)
	*claim = corev1.PersistentVolumeClaim{ObjectMeta: onlyIdentity(&claim.ObjectMeta)}
	if owner != nil {
		claim.OwnerReferences = []metav1.OwnerReference{*owner}
	}
}

// TrimCertificateSigningRequest removes, in place, the fields that
// [Graph.SetCertificateSigningRequest] does not read.
func TrimCertificateSigningRequest(request *certificatesv1.CertificateSigningRequest) {
	user := request.Spec.Username
	*request = certificatesv1.CertificateSigningRequest{ObjectMeta: onlyIdentity(&request.ObjectMeta)}
	request.Spec.Username = user
}

// TrimPod removes, in place, the fields that [Graph.SetPod] and [HasEnded] do not read. So a list
// of pods that waits to be set needs little memory. It moves the environments of all containers
// into one container: it does not matter which container refers to an object.
func TrimPod(pod *corev1.Pod) {
	annotations := onlyMirror(pod.Annotations)
	pod.ObjectMeta = onlyIdentity(&pod.ObjectMeta)
	pod.Annotations = annotations
	pod.Spec = corev1.PodSpec{
		NodeName:           pod.Spec.NodeName,
		ServiceAccountName: pod.Spec.ServiceAccountName,
		ImagePullSecrets:   pod.Spec.ImagePullSecrets,
		Volumes:            pod.Spec.Volumes,
		ResourceClaims:     pod.Spec.ResourceClaims,
		Containers:         onlyReferences(&pod.Spec),
	}
	pod.Status = corev1.PodStatus{
		Phase:                       pod.Status.Phase,
		ResourceClaimStatuses:       pod.Status.ResourceClaimStatuses,
		ExtendedResourceClaimStatus: pod.Status.ExtendedResourceClaimStatus,
	}
}

func onlyMirror(annotations map[string]string) map[string]string {
	value, isMirror := annotations[corev1.MirrorPodAnnotationKey]
	if !isMirror {
		return nil
	}
	return map[string]string{corev1.MirrorPodAnnotationKey: value}
}

func onlyReferences(spec *corev1.PodSpec) []corev1.Container {
	var all corev1.Container
	keep := func(env []corev1.EnvVar, from []corev1.EnvFromSource) {
		all.Env = append(all.Env, slices.DeleteFunc(env, func(v corev1.EnvVar) bool { return v.ValueFrom == nil })...)
		all.EnvFrom = append(all.EnvFrom, from...)
	}
	for i := range spec.InitContainers {
		keep(spec.InitContainers[i].Env, spec.InitContainers[i].EnvFrom)
	}
	for i := range spec.Containers {
		keep(spec.Containers[i].Env, spec.Containers[i].EnvFrom)
	}
	for i := range spec.EphemeralContainers {
		keep(spec.EphemeralContainers[i].Env, spec.EphemeralContainers[i].EnvFrom)
	}
	if len(all.Env) == 0 && len(all.EnvFrom) == 0 {
		return nil
	}
	return []corev1.Container{all}
}
