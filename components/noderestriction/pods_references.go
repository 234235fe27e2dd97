// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// reviewPodReferences allows only the volume types that are known to need no API objects. A newer
// API server may have a volume type that this program does not know. Such a volume is decoded
// without a type, and is denied.
func reviewPodReferences(q *request, pod *corev1.Pod) *rules.Decision {
	if noun := referenced(&pod.Spec); noun != "" {
		return q.forbid(podReferences, fmt.Sprintf("node %q can not create pods that reference %s", q.node, noun))
	}
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if needsNoObject(&volume.VolumeSource) {
			continue
		}
		noun, problem := volumeReference(volume)
		if problem != "" {
			return q.forbid(podReferences, "error checking mirror pod for API references: "+problem)
		}
		if noun != "" {
			return q.forbid(podReferences, fmt.Sprintf("node %q can not create pods that reference %s", q.node, noun))
		}
	}
	return nil
}

// referenced returns upstream's word for the first kind of API object that the pod names. It
// returns "" if there is none. It ignores volumes that name no object.
func referenced(spec *corev1.PodSpec) string {
	secrets, configMaps := slices.ContainsFunc(spec.ImagePullSecrets,
		func(l corev1.LocalObjectReference) bool { return isNamed(&l) }), false
	visitContainers(spec, func(env []corev1.EnvVar, from []corev1.EnvFromSource) {
		s, c := environmentReferences(env, from)
		secrets, configMaps = secrets || s, configMaps || c
	})
	for i := range spec.Volumes {
		s, c := volumeNames(&spec.Volumes[i].VolumeSource)
		secrets, configMaps = secrets || s, configMaps || c
	}
	switch {
	// The API server copies each of the two fields to the other.
	case spec.ServiceAccountName != "" || spec.DeprecatedServiceAccount != "":
		return "serviceaccounts"
	case secrets:
		return "secrets"
	case configMaps:
		return "configmaps"
	case len(spec.ResourceClaims) > 0:
		return "resourceclaims"
	default:
		return ""
	}
}

func visitContainers(spec *corev1.PodSpec, visit func(env []corev1.EnvVar, from []corev1.EnvFromSource)) {
	for i := range spec.InitContainers {
		visit(spec.InitContainers[i].Env, spec.InitContainers[i].EnvFrom)
	}
	for i := range spec.Containers {
		visit(spec.Containers[i].Env, spec.Containers[i].EnvFrom)
	}
	for i := range spec.EphemeralContainers {
		visit(spec.EphemeralContainers[i].Env, spec.EphemeralContainers[i].EnvFrom)
	}
}

// environmentReferences reports which kinds of objects a container's environment refers to. Like
// upstream, it ignores a reference without a name.
func environmentReferences(env []corev1.EnvVar, from []corev1.EnvFromSource) (secrets, configMaps bool) {
	for i := range from {
		secrets = secrets || from[i].SecretRef != nil && from[i].SecretRef.Name != ""
		configMaps = configMaps || from[i].ConfigMapRef != nil && from[i].ConfigMapRef.Name != ""
	}
	for i := range env {
		source := env[i].ValueFrom
		if source == nil {
			continue
		}
		secrets = secrets || source.SecretKeyRef != nil && source.SecretKeyRef.Name != ""
		configMaps = configMaps || source.ConfigMapKeyRef != nil && source.ConfigMapKeyRef.Name != ""
	}
	return secrets, configMaps
}
