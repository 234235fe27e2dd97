// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	nodeCordon = rules.Rule{
		ID:          "NR-CORDON-1",
		Description: "A node that is cordoned does not make itself schedulable again.",
		Source:      "ours; pkg/apis/core/validation/validation.go ValidateNodeUpdate lets spec.unschedulable change",
		Extension:   true,
		Optional:    true,
	}
	nodeAnnotations = rules.Rule{
		ID: "NR-ANNOTATION-1",
		Description: "A node sets, changes and removes on its own Node only annotations that a kubelet or, as the node, " +
			"kubeadm sets there, " +
			"and those that the operator allows; also through the status.",
		Source: "ours; pkg/kubelet/kubelet_node_status.go initialNode, pkg/kubelet/nodestatus/setters.go NodeAddress, " +
			"pkg/volume/csi/nodeinfomanager/nodeinfomanager.go, and AnnotateCRISocket of kubeadm releases before 1.37, which " +
			"ran as the node",
		Extension: true,
		Optional:  true,
	}
	nodePodCIDR = rules.Rule{
		ID:          "NR-NODESPEC-1",
		Description: "A node neither sets nor changes the podCIDR and the podCIDRs of its own Node.",
		Source:      "ours; kube-controller-manager sets them (pkg/controller/nodeipam), a kubelet never does",
		Extension:   true,
		Optional:    true,
	}
	nodeProviderID = rules.Rule{
		ID:          "NR-NODESPEC-2",
		Description: "A node sets the providerID of its own Node only when it makes the Node, and does not change it.",
		Source:      "ours; pkg/kubelet/kubelet_node_status.go initialNode; API validation lets an empty one be set",
		Extension:   true,
		Optional:    true,
	}
)

var nodeBeyondRules = []rules.Rule{
	nodeCordon, nodeAnnotations, nodePodCIDR, nodeProviderID, nodeProviderIDOthers,
	addressNobodys, addressOthers, addressChanged, addressPort, addressService,
	volumesAttached, volumesInUse, labelHostname, labelsSetOnce,
}

// reviewNodeBeyond holds a Node that is made (old is nil) or written to the optional
// rules. Of a status without new addresses or volumes, it compares and looks nothing up.
func (r *Restriction) reviewNodeBeyond(ctx context.Context, q *request, old, node *corev1.Node) *rules.Decision {
	if node == nil {
		return q.forbid(nodeAnnotations, "there is no Node in the request")
	}
	if refused := r.reviewNodeAnnotations(q, old, node); refused != nil {
		return refused
	}
	if refused := r.reviewNodeSpec(q, old, node); refused != nil {
		return refused
	}
	if refused := r.reviewProviderIDOthers(ctx, q, old, node); refused != nil {
		return refused
	}
	if refused := r.reviewNodeAddresses(ctx, q, old, node); refused != nil {
		return refused
	}
	if refused := r.reviewNodeVolumes(ctx, q, old, node); refused != nil {
		return refused
	}
	return r.reviewOwnLabels(ctx, q, old, node)
}

// noNode stands for what was there before a Node was made.
var noNode = &corev1.Node{}

func (r *Restriction) reviewNodeSpec(q *request, old, node *corev1.Node) *rules.Decision {
	making := old == nil
	if making {
		old = noNode
	}
	if refused := r.optional(q, nodeCordon, func() *rules.Decision {
		if !old.Spec.Unschedulable || node.Spec.Unschedulable {
			return nil
		}
		return q.forbid(nodeCordon, fmt.Sprintf("node %q is not allowed to make itself schedulable", q.node))
	}); refused != nil {
		return refused
	}
	if refused := r.optional(q, nodePodCIDR, func() *rules.Decision {
		if old.Spec.PodCIDR == node.Spec.PodCIDR && slices.Equal(old.Spec.PodCIDRs, node.Spec.PodCIDRs) {
			return nil
		}
		return q.forbid(nodePodCIDR, fmt.Sprintf("node %q is not allowed to modify podCIDRs", q.node))
	}); refused != nil {
		return refused
	}
	return r.optional(q, nodeProviderID, func() *rules.Decision {
		if making || old.Spec.ProviderID == node.Spec.ProviderID {
			return nil
		}
		return q.forbid(nodeProviderID, fmt.Sprintf("node %q is not allowed to modify providerID", q.node))
	})
}
