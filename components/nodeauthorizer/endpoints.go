// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import "github.com/bulkhead-k8s/bulkhead/components/rules"

var (
	endpoints = rules.Rule{
		ID:          "NA-UNI-ENDPOINTS",
		Description: "A node may get endpoints by name, but may not list or change them.",
		Source:      uniformSource,
	}
	endpointsReferenced = rules.Rule{
		ID: "NA-ENDPOINTS-1",
		Description: "A node may get endpoints only where something on it refers to them. Nothing does today, so it gets " +
			"none.",
		Source:    "kubernetes/design-proposals-archive node/kubelet-authorizer.md (Scoped Kubelet API Access), Future work; " + uniformSource + ": the volume plugin that needed them is gone",
		Extension: true,
		Optional:  true,
	}
)

func (z *Authorizer) authorizeEndpoints(node string, a *request) rules.Decision {
	if a.Verb != "get" || a.Subresource != "" {
		return noRule(endpoints, a)
	}
	switch z.optional.endpoints {
	case rules.Enforce:
		return deny(endpointsReferenced, "nothing on node '"+node+"' refers to endpoints")
	case rules.Audit:
		return audit(endpoints, endpointsReferenced)
	default:
		return allow(endpoints)
	}
}
