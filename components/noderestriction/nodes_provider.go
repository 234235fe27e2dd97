// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var nodeProviderIDOthers = rules.Rule{
	ID:          "NR-NODESPEC-3",
	Description: "A node gives its Node no providerID that another Node has.",
	Source: "Bulkhead: cloud controllers and autoscalers find the machine of a Node by it, to read its addresses " +
		"and to delete it",
	Extension: true,
	Optional:  true,
}

// maxProviderID is the longest that is looked up.
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
				fmt.Sprintf("node %q is not allowed to have the providerID of node %q", q.node, owner))
		}
		return nil
	})
}
