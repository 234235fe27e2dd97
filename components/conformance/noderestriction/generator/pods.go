// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
)

// pod returns a pod that may exist: bound or not, a mirror pod or not.
func (m *Generator) pod(namespace, name string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: m.meta(namespace, name), Spec: corev1.PodSpec{
		NodeName: harness.Pick(
			m.RNG,
			[]string{"n1", "n1", "n1", "n2", "n3", ""},
		),
		ServiceAccountName: harness.Pick(m.RNG, accountNames),
		Containers:         []corev1.Container{{Name: "c"}},
		Volumes:            m.volumes(4),
	}}
	pod.Labels = m.labels()
	if m.OneIn(5) {
		pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	}
	m.fillStatus(&pod.Status)
	return pod
}

// fillStatus sets status fields that a node must not change.
func (m *Generator) fillStatus(status *corev1.PodStatus) {
	claim := "claim"
	if m.OneIn(3) {
		status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{
			{Name: "gpu"},
			{Name: "net", ResourceClaimName: &claim},
		}
	}
	if m.OneIn(3) {
		status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{
			ResourceClaimName: claim, RequestMappings: []corev1.ContainerExtendedResourceRequest{{ContainerName: "c"}},
		}
	}
	if m.OneIn(3) {
		status.NodeAllocatableResourceClaimStatuses = []corev1.NodeAllocatableResourceClaimStatus{{
			ResourceClaimName: claim, Containers: []string{"c"},
			Mapping: []corev1.NodeAllocatableMappedResources{{Name: corev1.ResourceCPU}},
		}}
	}
}

// mirrorPod returns a mirror pod as the kubelet of a node creates it.
func (m *Generator) mirrorPod(namespace, name, node string) *corev1.Pod {
	controller := true
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   namespace,
			Name:        name,
			Annotations: map[string]string{corev1.MirrorPodAnnotationKey: ""},
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "v1", Kind: "Node", Name: node, UID: m.uidOfNode(node), Controller: &controller},
			},
		},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c"}}},
	}
	for i := range m.IntN(3) {
		pod.Spec.Volumes = append(
			pod.Spec.Volumes,
			corev1.Volume{Name: fmt.Sprint("v", i), VolumeSource: m.harmlessSource()},
		)
	}
	return pod
}

func (m *Generator) uidOfNode(name string) types.UID {
	for _, node := range m.Cluster.Nodes {
		if node.Name == name {
			return node.UID
		}
	}
	return ""
}

// spoil makes one change to a mirror pod that a rule may deny.
func (m *Generator) spoil(pod *corev1.Pod) {
	switch m.IntN(16) {
	case 0:
		delete(pod.Annotations, corev1.MirrorPodAnnotationKey)
	case 1:
		pod.Spec.NodeName = m.nodeName()
	case 2:
		pod.OwnerReferences = append(pod.OwnerReferences, pod.OwnerReferences...)
	case 3:
		pod.OwnerReferences = nil
	case 4, 5:
		for i := range pod.OwnerReferences {
			m.spoilOwner(&pod.OwnerReferences[i])
		}
	case 6:
		pod.Spec.ServiceAccountName = m.local().Name
	case 7:
		pod.Spec.DeprecatedServiceAccount = m.local().Name
	case 8:
		pod.Spec.ImagePullSecrets = []corev1.LocalObjectReference{m.local()}
	case 9:
		pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}}
	case 10, 11:
		m.spoilContainer(&pod.Spec)
	case 12:
		pod.GenerateName, pod.Name = "made-", harness.Pick(m.RNG, []string{"", pod.Name})
	default:
		m.spoilVolumes(&pod.Spec)
	}
}

func (m *Generator) spoilVolumes(spec *corev1.PodSpec) {
	if m.OneIn(4) {
		spec.Volumes = append(spec.Volumes, m.unlawful())
	} else {
		spec.Volumes = append(spec.Volumes, m.volumes(2)...)
	}
}

func (m *Generator) spoilOwner(owner *metav1.OwnerReference) {
	switch m.IntN(6) {
	case 0:
		owner.APIVersion = harness.Pick(m.RNG, []string{"", "v2", "/v1", "core/v1"})
	case 1:
		owner.Kind = harness.Pick(m.RNG, []string{"", "node", "Pod"})
	case 2:
		owner.Name = m.nodeName()
	case 3:
		owner.Controller = m.may()
	case 4:
		owner.BlockOwnerDeletion = m.may()
	default:
		owner.UID = harness.Pick(m.RNG, []types.UID{"", "other", "n2-1"})
	}
}

// spoilContainer makes a container read its environment from an object.
func (m *Generator) spoilContainer(spec *corev1.PodSpec) {
	var env []corev1.EnvVar
	var from []corev1.EnvFromSource
	switch m.IntN(5) {
	case 0:
		env = []corev1.EnvVar{
			{
				Name: "e",
				ValueFrom: &corev1.EnvVarSource{
					SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: m.local()},
				},
			},
		}
	case 1:
		env = []corev1.EnvVar{
			{Name: "e"},
			{
				Name: "f",
				ValueFrom: &corev1.EnvVarSource{
					ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: m.local()},
				},
			},
		}
	case 2:
		env = []corev1.EnvVar{{Name: "e", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{}}}}
	case 3:
		from = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: m.local()}}}
	default:
		from = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: m.local()}}}
	}
	switch m.IntN(3) {
	case 0:
		spec.Containers[0].Env, spec.Containers[0].EnvFrom = env, from
	case 1:
		spec.InitContainers = []corev1.Container{{Name: "i", Env: env, EnvFrom: from}}
	default:
		spec.EphemeralContainers = []corev1.EphemeralContainer{
			{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "e", Env: env, EnvFrom: from}},
		}
	}
}

// nodeName returns a random node name, sometimes an impossible one.
func (m *Generator) nodeName() string {
	return harness.Pick(m.RNG, []string{"n1", "n2", "n3", "", "N1", "n1 "})
}
