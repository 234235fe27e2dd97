// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	claimGet = promise(rules.Rule{
		ID:      "NA-PVC-1",
		Promise: "A node may get a persistent volume claim only if a pod bound to it uses the claim, and may not list or change claims.",
		Source:  "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeGet",
	})
	claimStatus = promise(rules.Rule{
		ID:      "NA-PVC-2",
		Promise: "A node may update and patch the status of a persistent volume claim only if a pod bound to it uses the claim.",
		Source:  "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeStatusUpdate",
	})
	volumeGet = promise(rules.Rule{
		ID:      "NA-PV-1",
		Promise: "A node may get a persistent volume only if it is bound to a claim that a pod on the node uses, and may not list or change volumes.",
		Source:  "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeGet",
	})
)

func (z *Authorizer) authorizePersistentVolumeClaim(node string, a authorizer.Attributes) verdict {
	if a.GetSubresource() != "status" {
		return z.get(claimGet, node, graph.PersistentVolumeClaim, a)
	}
	switch a.GetVerb() {
	case "update", "patch":
		return z.related(claimStatus, node, graph.PersistentVolumeClaim, a)
	default:
		// Upstream's text names get, which upstream refuses too.
		return refuse(claimStatus, "can only get/update/patch this type")
	}
}

func (z *Authorizer) authorizePersistentVolume(node string, a authorizer.Attributes) verdict {
	return z.get(volumeGet, node, graph.PersistentVolume, a)
}
