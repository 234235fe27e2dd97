// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"
	"maps"
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
		Description: "When a node updates a pod's status, it changes neither the labels nor the status of the " +
			"pod's resource claims.",
		Source: "plugin/pkg/admission/noderestriction/admission.go admitPodStatus",
	}
)

// reviewPodStatus reads the node name from the old pod, because the node wrote the new one.
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
	if refused := q.enforced(reviewPodStatusFields(q, old, pod)); refused != nil || !r.onPodStatus {
		return refused
	}
	return r.reviewPodStatusExtensions(ctx, q, old, pod)
}

func reviewPodStatusFields(q *request, old, pod *corev1.Pod) *rules.Decision {
	if !labels.Equals(old.Labels, pod.Labels) {
		return q.forbid(podStatusFields, fmt.Sprintf("node %q cannot update labels through pod status", q.node))
	}
	if !same(old.Status.ResourceClaimStatuses, pod.Status.ResourceClaimStatuses, sameClaimStatus) {
		// This is upstream's exact text.
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

// same is [slices.EqualFunc] with a shortcut: most pods have empty lists.
func same[S ~[]E, E any](a, b S, equal func(x, y E) bool) bool {
	return len(a) == len(b) && (len(a) == 0 || slices.EqualFunc(a, b, equal))
}

// sameClaimStatus compares the value of the pointer field, then all other fields with ==. So it
// also compares a field that Kubernetes adds later, or it does not compile.
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

var (
	podStatusAnnotations = rules.Rule{
		ID:          "NR-PODMETA-1",
		Description: "A node changes no annotation of a pod through its status.",
		Source: "KEP-1314, Annotation Restrictions; a kubelet sends the UID and the status (pkg/util/pod/pod.go " +
			"PatchPodStatus)",
		Extension: true,
		Optional:  true,
	}
	podStatusFinalizers = rules.Rule{
		ID:          "NR-PODMETA-2",
		Description: "A node changes neither the finalizers nor the owner references of a pod through its status.",
		Source:      "Bulkhead; the API server itself resets the owner references (pkg/registry/core/pod/strategy.go)",
		Extension:   true,
		Optional:    true,
	}
	podStatusPhase = rules.Rule{
		ID: "NR-PODPHASE-1",
		Description: "A pod that has succeeded or failed does not start again: its node sets no phase other than " +
			"these two. A mirror pod is exempt.",
		Source:    "Bulkhead; a kubelet keeps to it (pkg/kubelet/kubelet_pods.go generateAPIPodStatus)",
		Extension: true,
		Optional:  true,
	}
	podIPInside = rules.Rule{
		ID: PodIPInside,
		Description: "A node reports as a new IP of a pod only an IP of its Node or, unless the pod is on the " +
			"host network, an IP inside the Node's podCIDRs. For an IP family without a podCIDR, it may report " +
			"any IP.",
		Source:    "Bulkhead; attack T6",
		Extension: true,
		Optional:  true,
	}
	podIPUnowned = rules.Rule{
		ID: "NR-PODIP-2",
		Description: "A node reports as a new IP of a pod no loopback, unspecified, multicast or link-local IP, " +
			"and no IP of another Node outside its own podCIDRs.",
		Source:    "Bulkhead; attack T6; pkg/apis/core/validation/validation.go ValidateEndpointIP",
		Extension: true,
		Optional:  true,
	}
	podHostIP = rules.Rule{
		ID:          "NR-PODIP-3",
		Description: "A node reports as a new hostIP or hostIPs of a pod only addresses of its own Node.",
		Source:      "Bulkhead; a kubelet takes them from its Node (pkg/kubelet/kubelet_pods.go convertStatusToAPIStatus)",
		Extension:   true,
		Optional:    true,
	}
)

var podStatusExtensionRules = []rules.Rule{podStatusAnnotations, podStatusFinalizers, podStatusPhase, podIPInside,
	podIPUnowned, podHostIP}

// reviewPodStatusExtensions checks the optional rules for a pod status that upstream's rules admit.
// It reads from the cluster only for a new IP.
func (r *Restriction) reviewPodStatusExtensions(ctx context.Context, q *request, old, pod *corev1.Pod) *rules.Decision {
	if old == nil || pod == nil {
		return q.forbid(podStatusAnnotations, "a pod status needs the pod as it was and as it is to be")
	}
	if refused := r.reviewPodMetadata(q, old, pod); refused != nil {
		return refused
	}
	return r.reviewPodAddresses(ctx, q, old, pod)
}

func (r *Restriction) reviewPodMetadata(q *request, old, pod *corev1.Pod) *rules.Decision {
	if refused := r.optional(q, podStatusAnnotations, func() *rules.Decision {
		if maps.Equal(old.Annotations, pod.Annotations) {
			return nil
		}
		return q.forbid(podStatusAnnotations, fmt.Sprintf("node %q cannot update annotations through pod status", q.node))
	}); refused != nil {
		return refused
	}
	if refused := r.optional(q, podStatusFinalizers, func() *rules.Decision {
		if slices.Equal(old.Finalizers, pod.Finalizers) &&
			slices.EqualFunc(old.OwnerReferences, pod.OwnerReferences, sameOwner) {
			return nil
		}
		return q.forbid(podStatusFinalizers,
			fmt.Sprintf("node %q cannot update finalizers or owner references through pod status", q.node))
	}); refused != nil {
		return refused
	}
	return r.optional(q, podStatusPhase, func() *rules.Decision {
		// After a restart of its host, a kubelet starts a static pod again under the same mirror
		// pod (pkg/kubelet/kubelet.go, kubernetes#116484). The node gains nothing by this, and it
		// may delete the mirror pod anyway.
		if _, mirror := old.Annotations[corev1.MirrorPodAnnotationKey]; mirror || !hasEnded(old) || hasEnded(pod) {
			return nil
		}
		return q.forbid(podStatusPhase,
			fmt.Sprintf("node %q cannot change the phase of a pod that has ended as %s", q.node, old.Status.Phase))
	})
}

func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
