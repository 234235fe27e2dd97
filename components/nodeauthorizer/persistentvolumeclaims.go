// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"context"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	claimGet = rules.Rule{
		ID: "NA-PVC-1",
		Description: "A node may get a persistent volume claim only if a pod bound to it uses the claim, and may not list " +
			"or change claims.",
		Source: "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeGet",
	}
	claimStatus = rules.Rule{
		ID: "NA-PVC-2",
		Description: "A node may update and patch the status of a persistent volume claim only if a pod bound to it uses " +
			"the claim.",
		Source: "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeStatusUpdate",
	}
	volumeGet = rules.Rule{
		ID: "NA-PV-1",
		Description: "A node may get a persistent volume only if it is bound to a claim that a pod on the node uses, and " +
			"may not list or change volumes.",
		Source: "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeGet",
	}
	claimOwned = rules.Rule{
		ID: "NA-PVC-3",
		Description: "The claim of a pod's ephemeral volume (<pod>-<volume>), and the volume behind it, is " +
			"related to the pod's node only if the pod owns the claim: the claim's controller is that pod, by " +
			"name and UID.",
		Source: "Bulkhead: upstream relates any claim of that name, also one of another creator " +
			"(plugin/pkg/auth/authorizer/node/graph.go AddPod)",
		Extension: true,
		Optional:  true,
	}
)

const claimVerbs = "can only get/update/patch this type"

func (z *Authorizer) authorizePersistentVolumeClaim(ctx context.Context, node string, a *request) rules.Decision {
	if a.Subresource != "status" {
		return z.get(ctx, claimGet, node, graph.PersistentVolumeClaim, a)
	}
	switch a.Verb {
	case "update", "patch":
		return z.related(ctx, claimStatus, node, graph.PersistentVolumeClaim, a)
	default:
		// Upstream's text mentions get, although upstream refuses get too.
		return deny(claimStatus, claimVerbs)
	}
}

func (z *Authorizer) authorizePersistentVolume(ctx context.Context, node string, a *request) rules.Decision {
	return z.get(ctx, volumeGet, node, graph.PersistentVolume, a)
}
