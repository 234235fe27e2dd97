// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// The annotations by which a namespace says what mirror pods it takes. Nodes cannot
// write namespaces.
const (
	mirrorAllowed   = "node.kubernetes.io/mirror.allowed"
	mirrorLabelKeys = "node.kubernetes.io/mirror.allowed-label-keys"
)

var (
	mirrorNamespace = rules.Rule{
		ID: "NR-MIRROR-1",
		Description: "Where the gate MirrorPodNodeRestriction and requireNamespace are on, a node makes mirror pods only " +
			"in a namespace with the annotation " +
			"node.kubernetes.io/mirror.allowed; the value \"false\" counts as none.",
		Source:    "KEP-1314, Restrict namespaces",
		Extension: true, Configured: true,
	}
	mirrorLabels = rules.Rule{
		ID: "NR-MIRROR-2",
		Description: "Where the gate MirrorPodNodeRestriction is on, a mirror pod has only labels whose keys its namespace " +
			"lists in the annotation " +
			"node.kubernetes.io/mirror.allowed-label-keys, or the Node's own topology.kubernetes.io/zone and region, or, if " +
			"the operator says so, keys under unrestricted.node.kubernetes.io/.",
		Source: "KEP-1314, Label Restrictions and Whitelist prefix; the topology labels are put there by " +
			"kube-apiserver's plugin PodTopologyLabels",
		Extension: true, Configured: true,
	}
	mirrorDeniedLabels = rules.Rule{
		ID: "NR-MIRROR-3",
		Description: "Where the gate MirrorPodNodeRestriction is on, a mirror pod has no label whose key the operator " +
			"denies (k8s-app, by default), whatever its namespace lists.",
		Source:    "KEP-1314, Label Restrictions",
		Extension: true, Configured: true,
	}
	mirrorAnnotations = rules.Rule{
		ID: "NR-MIRROR-4",
		Description: "Where the gate MirrorPodNodeRestriction is on, a mirror pod has only annotations that KEP-1314 lists " +
			"by name, those under unrestricted.node.kubernetes.io/, " +
			"those that the operator allows, and the note of kube-apiserver's plugin LimitRanger.",
		Source:    "KEP-1314, Annotation Restrictions; plugin/pkg/admission/limitranger/admission.go",
		Extension: true, Configured: true,
	}
)

var mirrorPodRules = []rules.Rule{mirrorNamespace, mirrorLabels, mirrorDeniedLabels, mirrorAnnotations, mirrorName}

// reviewMirrorPodMetadata holds a new mirror pod, which upstream's rules admit, to
// KEP-1314. A label or annotation that is not allowed is refused and not
// taken off: a kubelet tries a refused mirror pod again, and succeeds once the
// namespace lists the key. What can be decided without a look at the cluster comes
// first.
func (r *Restriction) reviewMirrorPodMetadata(ctx context.Context, q *request, pod *corev1.Pod) *rules.Decision {
	if q.configuration == nil || q.configuration.MirrorPods.Gate == configuration.Off {
		return nil
	}
	policy := &q.configuration.MirrorPods
	if refused := policyOn(q, policy, checkMirrorName(q, pod)); refused != nil {
		return refused
	}
	if refused := policyOn(q, policy, checkDeniedLabels(q, policy, pod)); refused != nil {
		return refused
	}
	if refused := policyOn(q, policy, checkMirrorAnnotations(q, policy, pod)); refused != nil {
		return refused
	}
	if !policy.RequireNamespace && len(pod.Labels) == 0 {
		return nil
	}
	return r.reviewMirrorNamespace(ctx, q, policy, pod)
}

func (r *Restriction) reviewMirrorNamespace(ctx context.Context, q *request, policy *configuration.MirrorPods,
	pod *corev1.Pod) *rules.Decision {
	namespace, err := r.config.Cluster.Namespace(ctx, q.GetNamespace())
	if err != nil {
		return policyOn(q, policy, q.raw(mirrorNamespace, err))
	}
	if policy.RequireNamespace {
		if value, has := namespace.Annotations[mirrorAllowed]; !has || value == "false" {
			refused := q.forbid(mirrorNamespace,
				fmt.Sprintf("node %q can only create mirror pods in namespaces that have the annotation %s, and %q does not",
					q.node, mirrorAllowed, q.GetNamespace()))
			if refused := policyOn(q, policy, refused); refused != nil {
				return refused
			}
		}
	}
	return policyOn(q, policy, r.checkMirrorLabels(ctx, q, policy, namespace, pod))
}

// policyOn is what the gate makes of a refusal: where it only warns, the write is
// admitted, and the caller and the counters hear of it.
func policyOn(q *request, policy *configuration.MirrorPods, refused *rules.Decision) *rules.Decision {
	if refused == nil || policy.Gate != configuration.Warn {
		return refused
	}
	q.warnings = append(q.warnings, "to be refused: "+refused.Status.Message)
	q.audit(refused)
	return nil
}
