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
		Description: "A node that is cordoned does not make itself schedulable.",
		Source:      "Bulkhead; pkg/apis/core/validation/validation.go ValidateNodeUpdate lets spec.unschedulable change",
		Extension:   true,
		Optional:    true,
	}
	nodeAnnotations = rules.Rule{
		ID: "NR-ANNOTATION-1",
		Description: "A node sets, changes and removes on its own Node only annotations that a kubelet sets, that " +
			"kubeadm sets as the node, or that the operator allows. This includes updates of the status.",
		Source: "Bulkhead; pkg/kubelet/kubelet_node_status.go initialNode, pkg/kubelet/nodestatus/setters.go NodeAddress, " +
			"pkg/volume/csi/nodeinfomanager/nodeinfomanager.go, and AnnotateCRISocket of kubeadm releases before 1.37, which " +
			"ran as the node",
		Extension: true,
		Optional:  true,
	}
	nodePodCIDR = rules.Rule{
		ID:          "NR-NODESPEC-1",
		Description: "A node does not set or change podCIDR and podCIDRs of its own Node.",
		Source:      "Bulkhead; kube-controller-manager sets them (pkg/controller/nodeipam), a kubelet never does",
		Extension:   true,
		Optional:    true,
	}
	nodeProviderID = rules.Rule{
		ID: "NR-NODESPEC-2",
		Description: "A node sets the providerID of its own Node only when it creates the Node, and does not " +
			"change it.",
		Source:    "Bulkhead; pkg/kubelet/kubelet_node_status.go initialNode; API validation lets an empty one be set",
		Extension: true,
		Optional:  true,
	}
)

var nodeExtensionRules = []rules.Rule{
	nodeCordon, nodeAnnotations, nodePodCIDR, nodeProviderID, nodeProviderIDOthers,
	addressUnowned, addressOthers, addressChanged, addressPort, addressService,
	volumesAttached, volumesInUse, labelHostname, labelsSetOnce,
}

// reviewNodeExtensions checks the optional rules for a Node that is created or updated. old is nil
// if it is created. For a status without new addresses or volumes it makes no lookup.
func (r *Restriction) reviewNodeExtensions(ctx context.Context, q *request, old, node *corev1.Node) *rules.Decision {
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

// noNode is the old Node of a creation.
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

var nodeProviderIDOthers = rules.Rule{
	ID:          "NR-NODESPEC-3",
	Description: "A node does not set the providerID of its Node to that of another Node.",
	Source: "Bulkhead: cloud controllers and autoscalers find the machine of a Node by it, to read its addresses " +
		"and to delete it",
	Extension: true,
	Optional:  true,
}

// maxProviderID is the longest providerID that is looked up, in bytes.
const maxProviderID = 1024

func (r *Restriction) reviewProviderIDOthers(ctx context.Context, q *request, old, node *corev1.Node) *rules.Decision {
	if node.Spec.ProviderID == "" || old != nil && old.Spec.ProviderID == node.Spec.ProviderID {
		return nil
	}
	return r.optional(q, nodeProviderIDOthers, func() *rules.Decision {
		if len(node.Spec.ProviderID) > maxProviderID {
			return q.forbid(nodeProviderIDOthers,
				fmt.Sprintf("node %q is not allowed to have a providerID of more than %d bytes", q.node, maxProviderID))
		}
		owner, err := r.config.Cluster.ProviderIDOwner(ctx, node.Spec.ProviderID, q.node)
		if err != nil {
			return q.raw(nodeProviderIDOthers, err)
		}
		if owner != "" {
			return q.forbid(nodeProviderIDOthers,
				fmt.Sprintf("node %q is not allowed to have the providerID of another node", q.node))
		}
		return nil
	})
}

var (
	nodeDelete = rules.Rule{
		ID:          "NR-NODE-6",
		Description: "A node does not delete its Node.",
		Source: "the proposal of kubernetes/design-proposals-archive node/limit-node-object-self-control.md (Limiting " +
			"Node Scope on the Node object): a node must not shed its taints and labels by making itself anew; upstream " +
			"leaves it to the Node authorizer",
		Extension: true,
		Optional:  true,
	}
	nodeLifetime = rules.Rule{
		ID: "NR-NODE-7",
		Description: "A node creates its Node without ownerReferences and finalizers, and does not change the " +
			"finalizers later.",
		Source: "kubernetes/design-proposals-archive node/limit-node-object-self-control.md (Limiting Node Scope on the " +
			"Node object); CVE-2025-5187, whose fix upstream holds only on update and only for ownerReferences",
		Extension: true,
		Optional:  true,
	}
)

func (r *Restriction) reviewNodeDelete(q *request) *rules.Decision {
	return r.optional(q, nodeDelete, func() *rules.Decision {
		return q.forbid(nodeDelete, fmt.Sprintf("node %q is not allowed to delete itself", q.node))
	})
}

func (r *Restriction) reviewNodeLifetime(q *request, old, node *corev1.Node) *rules.Decision {
	return r.optional(q, nodeLifetime, func() *rules.Decision {
		if old == nil && len(node.OwnerReferences) > 0 {
			return q.forbid(nodeLifetime, fmt.Sprintf("node %q is not allowed to set ownerReferences", q.node))
		}
		if old == nil && len(node.Finalizers) > 0 {
			return q.forbid(nodeLifetime, fmt.Sprintf("node %q is not allowed to set finalizers", q.node))
		}
		if old != nil && !slices.Equal(old.Finalizers, node.Finalizers) {
			return q.forbid(nodeLifetime, fmt.Sprintf("node %q is not allowed to modify finalizers", q.node))
		}
		return nil
	})
}
