// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

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
		Source:      "ours; the API server itself resets the owner references (pkg/registry/core/pod/strategy.go)",
		Extension:   true,
		Optional:    true,
	}
	podStatusPhase = rules.Rule{
		ID: "NR-PODPHASE-1",
		Description: "A pod that has succeeded or failed does not begin again: its node gives it no phase but these two. A " +
			"mirror pod may.",
		Source:    "ours; a kubelet keeps to it (pkg/kubelet/kubelet_pods.go generateAPIPodStatus)",
		Extension: true,
		Optional:  true,
	}
	podIPInside = rules.Rule{
		ID: "NR-PODIP-1",
		Description: "A node reports for a pod no new IP but those of its Node and, unless the pod is on the host's " +
			"network, those inside its podCIDRs; " +
			"of an IP family for which the Node has no podCIDR, it may report any.",
		Source:    "ours; attack T6",
		Extension: true,
		Optional:  true,
	}
	podIPNobodys = rules.Rule{
		ID: "NR-PODIP-2",
		Description: "A node reports for a pod no new IP that is a loopback, unspecified, multicast or link-local one, or " +
			"another Node's and not inside its own podCIDRs.",
		Source:    "ours; attack T6; pkg/apis/core/validation/validation.go ValidateEndpointIP",
		Extension: true,
		Optional:  true,
	}
	podHostIP = rules.Rule{
		ID:          "NR-PODIP-3",
		Description: "A node reports as a pod's new hostIP or hostIPs only addresses of its own Node.",
		Source:      "ours; a kubelet takes them from its Node (pkg/kubelet/kubelet_pods.go convertStatusToAPIStatus)",
		Extension:   true,
		Optional:    true,
	}
)

var podStatusBeyondRules = []rules.Rule{podStatusAnnotations, podStatusFinalizers, podStatusPhase, podIPInside,
	podIPNobodys, podHostIP}

// reviewPodStatusBeyond holds a new status of a pod, which upstream's rules admit,
// to the optional rules. It looks at the cluster only for an IP that is new.
func (r *Restriction) reviewPodStatusBeyond(ctx context.Context, q *request, old, pod *corev1.Pod) *rules.Decision {
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
		// A kubelet begins a static pod anew after a restart of its host, under the same
		// mirror pod (pkg/kubelet/kubelet.go, kubernetes#116484). The node may delete that
		// one anyway, and it gives it nothing.
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
