// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// container returns the container that a reference is added to. It adds one if necessary.
type container func(pod *corev1.Pod, number int) (*[]corev1.EnvVar, *[]corev1.EnvFromSource)

// environmentWays are the twelve container fields that name an object.
func environmentWays() []way {
	var all []way
	for _, c := range []struct {
		field string
		late  bool
		in    container
	}{
		{"containers", false, mainContainer},
		{"initContainers", false, initContainer},
		{"ephemeralContainers", true, ephemeralContainer},
	} {
		all = append(
			all,
			way{via: c.field + ".env.secretKeyRef", kind: graph.Secret, late: c.late, add: addEnv(c.in, secretKey)},
			way{
				via:  c.field + ".env.configMapKeyRef",
				kind: graph.ConfigMap,
				late: c.late,
				add:  addEnv(c.in, configMapKey),
			},
			way{
				via:  c.field + ".envFrom.secretRef",
				kind: graph.Secret,
				late: c.late,
				add:  addEnvFrom(c.in, allOfSecret),
			},
			way{
				via:  c.field + ".envFrom.configMapRef",
				kind: graph.ConfigMap,
				late: c.late,
				add:  addEnvFrom(c.in, allOfConfigMap),
			},
		)
	}
	return all
}

func mainContainer(pod *corev1.Pod, number int) (*[]corev1.EnvVar, *[]corev1.EnvFromSource) {
	last := containerFor(&pod.Spec.Containers, number)
	return &last.Env, &last.EnvFrom
}

func initContainer(pod *corev1.Pod, number int) (*[]corev1.EnvVar, *[]corev1.EnvFromSource) {
	last := containerFor(&pod.Spec.InitContainers, number)
	return &last.Env, &last.EnvFrom
}

// ephemeralContainer always adds a new container, because existing ones are immutable.
func ephemeralContainer(pod *corev1.Pod, _ int) (*[]corev1.EnvVar, *[]corev1.EnvFromSource) {
	pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, corev1.EphemeralContainer{})
	last := &pod.Spec.EphemeralContainers[len(pod.Spec.EphemeralContainers)-1].EphemeralContainerCommon
	return &last.Env, &last.EnvFrom
}

// containerFor uses the same container for several references. So a pod has several containers, and
// some have several references.
func containerFor(containers *[]corev1.Container, number int) *corev1.Container {
	if len(*containers) == 0 || number%2 == 0 {
		*containers = append(*containers, corev1.Container{})
	}
	return &(*containers)[len(*containers)-1]
}

func addEnv(in container, source func(name string) *corev1.EnvVarSource) func(*corev1.Pod, int, string) {
	return func(pod *corev1.Pod, number int, name string) {
		env, _ := in(pod, number)
		*env = append(
			*env,
			corev1.EnvVar{Name: "PLAIN", Value: "x"},
			corev1.EnvVar{Name: "VALUE", ValueFrom: source(name)},
		)
	}
}

func addEnvFrom(in container, source func(name string) corev1.EnvFromSource) func(*corev1.Pod, int, string) {
	return func(pod *corev1.Pod, number int, name string) {
		_, from := in(pod, number)
		*from = append(*from, source(name))
	}
}

func secretKey(name string) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{
		SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
	}
}

func configMapKey(name string) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{
		ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
	}
}

func allOfSecret(name string) corev1.EnvFromSource {
	return corev1.EnvFromSource{
		SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
	}
}

func allOfConfigMap(name string) corev1.EnvFromSource {
	return corev1.EnvFromSource{
		ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
	}
}
