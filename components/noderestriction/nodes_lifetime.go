// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

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
		Description: "A node creates its Node without ownerReferences and finalizers, and does not change the finalizers " +
			"later.",
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
