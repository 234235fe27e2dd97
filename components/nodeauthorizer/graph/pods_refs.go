// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import corev1 "k8s.io/api/core/v1"

// reference is an object to which a pod refers, in the pod's namespace.
type reference struct {
	kind  Kind
	flags edgeFlags
	name  string
}

func (r reference) in(namespace uint32) key {
	return key{name: r.name, namespace: namespace, kind: r.kind, flags: r.flags}
}

// references collects references. It ignores empty names.
type references []reference

func (r *references) add(kind Kind, name string) {
	r.addFlagged(kind, name, 0)
}

func (r *references) addFlagged(kind Kind, name string, set edgeFlags) {
	if name != "" {
		*r = append(*r, reference{kind, set, name})
	}
}

// podReferences appends every object to which the pod refers to refs, including duplicates. It sets
// the flags that follow from the pod alone. So the claims of its ephemeral volumes are unowned
// here.
//
// A mirror pod has no references. A node creates mirror pods, and must not be able to get access
// that way (kubernetes#64837). NodeRestriction also rejects mirror pods with references. The two
// checks do not depend on each other.
//
// Source: plugin/pkg/auth/authorizer/node/graph.go AddPod, pkg/api/v1/pod/util.go
// VisitPodSecretNames and VisitPodConfigmapNames.
func podReferences(pod *corev1.Pod, refs references) references {
	if _, isMirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; isMirror {
		return refs
	}
	refs.addFlagged(ServiceAccount, pod.Spec.ServiceAccountName, accountFlags(pod.Spec.Volumes))
	for i := range pod.Spec.ImagePullSecrets {
		refs.add(Secret, pod.Spec.ImagePullSecrets[i].Name)
	}
	for i := range pod.Spec.InitContainers {
		refs.addEnvironment(pod.Spec.InitContainers[i].Env, pod.Spec.InitContainers[i].EnvFrom)
	}
	for i := range pod.Spec.Containers {
		refs.addEnvironment(pod.Spec.Containers[i].Env, pod.Spec.Containers[i].EnvFrom)
	}
	for i := range pod.Spec.EphemeralContainers {
		refs.addEnvironment(pod.Spec.EphemeralContainers[i].Env, pod.Spec.EphemeralContainers[i].EnvFrom)
	}
	for i := range pod.Spec.Volumes {
		refs.addVolume(pod.Name, &pod.Spec.Volumes[i])
	}
	refs.addResourceClaims(pod)
	return refs
}

func (r *references) addEnvironment(env []corev1.EnvVar, from []corev1.EnvFromSource) {
	for i := range from {
		if from[i].SecretRef != nil {
			r.add(Secret, from[i].SecretRef.Name)
		}
		if from[i].ConfigMapRef != nil {
			r.add(ConfigMap, from[i].ConfigMapRef.Name)
		}
	}
	for i := range env {
		value := env[i].ValueFrom
		if value == nil {
			continue
		}
		if value.SecretKeyRef != nil {
			r.add(Secret, value.SecretKeyRef.Name)
		}
		if value.ConfigMapKeyRef != nil {
			r.add(ConfigMap, value.ConfigMapKeyRef.Name)
		}
	}
}

// addVolume expects one source for each volume. API validation guarantees that.
func (r *references) addVolume(podName string, volume *corev1.Volume) {
	switch source := &volume.VolumeSource; {
	case source.Secret != nil:
		r.add(Secret, source.Secret.SecretName)
	case source.ConfigMap != nil:
		r.add(ConfigMap, source.ConfigMap.Name)
	case source.Projected != nil:
		r.addProjected(source.Projected.Sources)
	case source.PersistentVolumeClaim != nil:
		r.add(PersistentVolumeClaim, source.PersistentVolumeClaim.ClaimName)
	case source.Ephemeral != nil:
		r.addFlagged(PersistentVolumeClaim, podName+"-"+volume.Name, unowned)
	case source.CSI != nil:
		r.addSecret(source.CSI.NodePublishSecretRef)
	default:
		r.addLegacyVolume(source)
	}
}

func (r *references) addProjected(sources []corev1.VolumeProjection) {
	for i := range sources {
		if sources[i].Secret != nil {
			r.add(Secret, sources[i].Secret.Name)
		}
		if sources[i].ConfigMap != nil {
			r.add(ConfigMap, sources[i].ConfigMap.Name)
		}
	}
}

// addLegacyVolume handles the volume plugins that were part of the kubelet in the past.
func (r *references) addLegacyVolume(source *corev1.VolumeSource) {
	switch {
	case source.AzureFile != nil:
		r.add(Secret, source.AzureFile.SecretName)
	case source.CephFS != nil:
		r.addSecret(source.CephFS.SecretRef)
	case source.Cinder != nil:
		r.addSecret(source.Cinder.SecretRef)
	case source.FlexVolume != nil:
		r.addSecret(source.FlexVolume.SecretRef)
	case source.RBD != nil:
		r.addSecret(source.RBD.SecretRef)
	case source.ScaleIO != nil:
		r.addSecret(source.ScaleIO.SecretRef)
	case source.ISCSI != nil:
		r.addSecret(source.ISCSI.SecretRef)
	case source.StorageOS != nil:
		r.addSecret(source.StorageOS.SecretRef)
	}
}

func (r *references) addSecret(ref *corev1.LocalObjectReference) {
	if ref != nil {
		r.add(Secret, ref.Name)
	}
}

// addResourceClaims adds three sorts of claims: those in the spec, those created from a template,
// and the claim that the scheduler created for extended resources. The names of the last two are in
// the status.
func (r *references) addResourceClaims(pod *corev1.Pod) {
	for i := range pod.Spec.ResourceClaims {
		switch claim := &pod.Spec.ResourceClaims[i]; {
		case claim.ResourceClaimName != nil:
			r.add(ResourceClaim, *claim.ResourceClaimName)
		case claim.ResourceClaimTemplateName != nil:
			r.addFromTemplate(claim.Name, pod.Status.ResourceClaimStatuses)
		}
	}
	if extended := pod.Status.ExtendedResourceClaimStatus; extended != nil {
		r.add(ResourceClaim, extended.ResourceClaimName)
	}
}

// addFromTemplate adds nothing if the claim has not been created yet, or if the status says that no
// claim is needed.
func (r *references) addFromTemplate(name string, statuses []corev1.PodResourceClaimStatus) {
	for i := range statuses {
		if statuses[i].Name != name {
			continue
		}
		if made := statuses[i].ResourceClaimName; made != nil {
			r.add(ResourceClaim, *made)
		}
		return
	}
}
