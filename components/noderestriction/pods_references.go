// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// reviewPodReferences holds a mirror pod to kinds of volumes that are known to do
// without objects of the API. One that this program does not know, because the API
// server is newer, arrives as a volume of no kind and is refused.
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

// referenced is what upstream calls the first kind of object that a pod names, apart
// from volumes that name none; empty if there is none.
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
	// The API server fills in each of the two fields from the other.
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

// environmentReferences is what a container's environment is taken from. A
// reference without a name is none, as upstream has it.
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
