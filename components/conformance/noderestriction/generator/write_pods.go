// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
)

func (m *Generator) createPod(w *Write) {
	w.at("", "v1", "pods", "")
	pod := m.mirrorPod(harness.Pick(m.RNG, namespaces), "mirror", w.node())
	for range m.IntN(3) {
		m.spoil(pod)
	}
	if m.OneIn(16) {
		pod.Annotations[corev1.MirrorPodAnnotationKey] = "x"
		m.fillStatus(&pod.Status)
	}
	w.Operation, w.Object = admission.Create, pod
	w.to(pod.Namespace, pod.Name)
}

// anyPod returns an existing pod, or one with the name of a missing pod.
func (m *Generator) anyPod() *corev1.Pod {
	if len(m.Cluster.Pods) == 0 || m.OneIn(10) {
		return m.pod(harness.Pick(m.RNG, namespaces), "gone")
	}
	return harness.Pick(m.RNG, m.Cluster.Pods)
}

// deletePod creates a deletion. The API server reads the pod as it is, or as it has changed since.
func (m *Generator) deletePod(w *Write) {
	w.at("", "v1", "pods", "")
	pod := m.anyPod()
	w.Operation, w.Old = admission.Delete, pod
	w.to(pod.Namespace, pod.Name)
	switch m.IntN(8) {
	case 0:
		w.Old = m.pod(pod.Namespace, pod.Name)
	case 1:
		// One of many pods in a deletecollection request.
		w.Name = ""
	}
}

func (m *Generator) updatePodStatus(w *Write) {
	w.at("", "v1", "pods", "status")
	old := m.anyPod()
	pod := old.DeepCopy()
	pod.Status.Phase = corev1.PodRunning
	for range m.IntN(3) {
		m.spoilStatus(pod)
	}
	w.Operation, w.Object, w.Old = admission.Update, pod, old
	w.to(pod.Namespace, pod.Name)
}

func (m *Generator) spoilStatus(pod *corev1.Pod) {
	switch m.IntN(7) {
	case 0:
		pod.Labels = m.labels()
	case 1:
		m.spoilLabels(&pod.Labels)
	case 2:
		pod.Status.ResourceClaimStatuses, pod.Status.ExtendedResourceClaimStatus,
			pod.Status.NodeAllocatableResourceClaimStatuses = nil, nil, nil
	case 3:
		m.fillStatus(&pod.Status)
	case 4:
		for i := range pod.Status.ResourceClaimStatuses {
			m.MutateValue(&pod.Status.ResourceClaimStatuses[i])
		}
	case 5:
		m.MutateValue(&pod.Status.ExtendedResourceClaimStatus)
	default:
		m.MutateValue(&pod.Status.NodeAllocatableResourceClaimStatuses)
	}
}

func (m *Generator) evict(w *Write) {
	w.at("", "v1", "pods", "eviction")
	pod := m.anyPod()
	w.Operation, w.Object = admission.Create, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: harness.Pick(m.RNG, []string{pod.Name, pod.Name, "", "a"}),
	}}
	w.to(pod.Namespace, harness.Pick(m.RNG, []string{pod.Name, pod.Name, pod.Name, ""}))
	if m.OneIn(10) {
		w.Operation = harness.Pick(m.RNG, []admission.Operation{admission.Update, admission.Delete})
	}
}

// otherPod creates writes to pods that nodes do not make.
func (m *Generator) otherPod(w *Write) {
	pod := m.anyPod()
	w.at(
		"",
		"v1",
		"pods",
		harness.Pick(m.RNG, []string{"", "status", "ephemeralcontainers", "resize", "binding", "exec", "log", "x"}),
	)
	w.Operation = harness.Pick(m.RNG, []admission.Operation{admission.Create, admission.Update, admission.Delete})
	w.Object, w.Old = pod, pod
	w.to(pod.Namespace, pod.Name)
}
