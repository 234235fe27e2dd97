// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"slices"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// uniformSource is where upstream lists the permissions that all nodes have.
const uniformSource = "plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go NodeRules"

var (
	tokenReviews = rules.Rule{
		ID: "NA-UNI-TOKENREVIEWS",
		Description: "A node may create token reviews, to authenticate a caller of its kubelet, and do nothing " +
			"else with them.",
		Source: uniformSource,
	}
	subjectAccessReviews = rules.Rule{
		ID: "NA-UNI-SUBJECTACCESSREVIEWS",
		Description: "A node may create subject access reviews, to authorize a caller of its kubelet, and do " +
			"nothing else with them.",
		Source: uniformSource,
	}
	localSubjectAccessReviews = rules.Rule{
		ID:          "NA-UNI-LOCALSUBJECTACCESSREVIEWS",
		Description: "A node may create local subject access reviews, and do nothing else with them.",
		Source:      uniformSource,
	}
	services = rules.Rule{
		ID:          "NA-UNI-SERVICES",
		Description: "A node may get, list and watch all services, but may never write one.",
		Source:      uniformSource,
	}
	events = rules.Rule{
		ID:          "NA-UNI-EVENTS",
		Description: "A node may create, update and patch events, of both API groups, but may not read or delete them.",
		Source:      uniformSource,
	}
	csiDrivers = rules.Rule{
		ID:          "NA-UNI-CSIDRIVERS",
		Description: "A node may get, list and watch CSI drivers, but may never write one.",
		Source:      uniformSource,
	}
	runtimeClasses = rules.Rule{
		ID:          "NA-UNI-RUNTIMECLASSES",
		Description: "A node may get, list and watch runtime classes, but may never write one.",
		Source:      uniformSource,
	}
	clusterTrustBundles = rules.Rule{
		ID: "NA-UNI-CLUSTERTRUSTBUNDLES",
		Description: "While ClusterTrustBundle is on, a node may get, list and watch cluster trust bundles, but may never " +
			"write one.",
		Source: uniformSource,
	}
)

var (
	createOnly = []string{"create"}
	readOnly   = []string{"get", "list", "watch"}
)

// authorizeClusterTrustBundle also decides while the feature is off, so that its refusals keep
// their rule ID.
func (z *Authorizer) authorizeClusterTrustBundle(a *request) rules.Decision {
	if !z.features.ClusterTrustBundle {
		return noRule(clusterTrustBundles, a)
	}
	return uniform(clusterTrustBundles, readOnly, a)
}

// uniform allows the verbs on a resource in every namespace and for every name, but not on a
// subresource.
func uniform(r rules.Rule, verbs []string, a *request) rules.Decision {
	if a.Subresource == "" && slices.Contains(verbs, a.Verb) {
		return allow(r)
	}
	return noRule(r, a)
}

var (
	endpoints = rules.Rule{
		ID:          "NA-UNI-ENDPOINTS",
		Description: "A node may get endpoints by name, but may not list or change them.",
		Source:      uniformSource,
	}
	endpointsReferenced = rules.Rule{
		ID: "NA-ENDPOINTS-1",
		Description: "A node may get endpoints only if an object on the node refers to them. No object does " +
			"today, so the node may get none.",
		Source: "kubernetes/design-proposals-archive node/kubelet-authorizer.md (Scoped Kubelet API Access), Future work; " +
			uniformSource + ": the volume plugin that needed them is gone",
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
