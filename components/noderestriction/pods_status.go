// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	podStatusBound = rules.Rule{
		ID:          "NR-POD-6",
		Description: "A node updates the status only of pods that are bound to it.",
		Source:      "plugin/pkg/admission/noderestriction/admission.go admitPodStatus",
	}
	podStatusFields = rules.Rule{
		ID: "NR-POD-7",
		Description: "With the status of a pod, a node changes neither its labels nor what the status says of its resource " +
			"claims.",
		Source: "plugin/pkg/admission/noderestriction/admission.go admitPodStatus",
	}
)

// reviewPodStatus takes the pod as it was for what it is bound to: the new one is
// the node's word.
func (r *Restriction) reviewPodStatus(ctx context.Context, q *request) *rules.Decision {
	if q.GetOperation() != admission.Update {
		return q.forbid(podStatusBound, fmt.Sprintf("unexpected operation %q", q.GetOperation()))
	}
	old, ok := typed[corev1.Pod](q.GetOldObject())
	if !ok {
		return q.unexpected(podStatusBound, q.GetOldObject())
	}
	if old.Spec.NodeName != q.node {
		return q.forbid(podStatusBound,
			fmt.Sprintf("node %q can only update pod status for pods with spec.nodeName set to itself", q.node))
	}
	pod, ok := typed[corev1.Pod](q.GetObject())
	if !ok {
		return q.unexpected(podStatusBound, q.GetObject())
	}
	if refused := reviewPodStatusFields(q, old, pod); refused != nil || !r.onPodStatus {
		return refused
	}
	return r.reviewPodStatusBeyond(ctx, q, old, pod)
}

func reviewPodStatusFields(q *request, old, pod *corev1.Pod) *rules.Decision {
	if !labels.Equals(old.Labels, pod.Labels) {
		return q.forbid(podStatusFields, fmt.Sprintf("node %q cannot update labels through pod status", q.node))
	}
	if !same(old.Status.ResourceClaimStatuses, pod.Status.ResourceClaimStatuses, sameClaimStatus) {
		// The text is upstream's to the letter.
		return q.forbid(podStatusFields, fmt.Sprintf("node %q cannot update resource claim statues", q.node))
	}
	if !sameExtendedClaimStatus(old.Status.ExtendedResourceClaimStatus, pod.Status.ExtendedResourceClaimStatus) {
		return q.forbid(podStatusFields, fmt.Sprintf("node %q cannot update extended resource claim status", q.node))
	}
	if !same(old.Status.NodeAllocatableResourceClaimStatuses, pod.Status.NodeAllocatableResourceClaimStatuses,
		sameAllocatableClaimStatus) {
		return q.forbid(podStatusFields,
			fmt.Sprintf("node %q cannot update node allocatable resource claim statuses", q.node))
	}
	return nil
}

// same is [slices.EqualFunc], which is not called for the many pods that have none.
func same[S ~[]E, E any](a, b S, equal func(x, y E) bool) bool {
	return len(a) == len(b) && (len(a) == 0 || slices.EqualFunc(a, b, equal))
}

// sameClaimStatus compares what a pointer points to, and then all that is left: a
// field that Kubernetes adds later is compared as well, or does not compile.
func sameClaimStatus(a, b corev1.PodResourceClaimStatus) bool {
	if !ptr.Equal(a.ResourceClaimName, b.ResourceClaimName) {
		return false
	}
	a.ResourceClaimName, b.ResourceClaimName = nil, nil
	return a == b
}

func sameExtendedClaimStatus(a, b *corev1.PodExtendedResourceClaimStatus) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ResourceClaimName == b.ResourceClaimName && slices.Equal(a.RequestMappings, b.RequestMappings)
}

func sameAllocatableClaimStatus(a, b corev1.NodeAllocatableResourceClaimStatus) bool {
	return a.ResourceClaimName == b.ResourceClaimName &&
		slices.Equal(a.Containers, b.Containers) &&
		slices.EqualFunc(a.Mapping, b.Mapping, func(x, y corev1.NodeAllocatableMappedResources) bool {
			return x.Name == y.Name && resource.QuantityPtrEqual(x.Quantity, y.Quantity)
		}) &&
		slices.EqualFunc(a.Overhead, b.Overhead, func(x, y corev1.NodeAllocatableOverheadResources) bool {
			return x.Name == y.Name && resource.QuantityPtrEqual(x.PerPod, y.PerPod) &&
				resource.QuantityPtrEqual(x.PerContainer, y.PerContainer)
		})
}
