// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// uniformSource is where upstream lists the rights that all nodes have alike.
const uniformSource = "plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go NodeRules"

var (
	tokenReviews = promise(rules.Rule{
		ID:      "NA-UNI-TOKENREVIEWS",
		Promise: "A node may create token reviews, to know who calls its kubelet, and do nothing else with them.",
		Source:  uniformSource,
	})
	subjectAccessReviews = promise(rules.Rule{
		ID:      "NA-UNI-SUBJECTACCESSREVIEWS",
		Promise: "A node may create subject access reviews, to know what a caller of its kubelet may do, and do nothing else with them.",
		Source:  uniformSource,
	})
	localSubjectAccessReviews = promise(rules.Rule{
		ID:      "NA-UNI-LOCALSUBJECTACCESSREVIEWS",
		Promise: "A node may create local subject access reviews, and do nothing else with them.",
		Source:  uniformSource,
	})
	services = promise(rules.Rule{
		ID:      "NA-UNI-SERVICES",
		Promise: "A node may get, list and watch all services, but may never write one.",
		Source:  uniformSource,
	})
	events = promise(rules.Rule{
		ID:      "NA-UNI-EVENTS",
		Promise: "A node may create, update and patch events, of both API groups, but may not read or delete them.",
		Source:  uniformSource,
	})
	endpoints = promise(rules.Rule{
		ID:      "NA-UNI-ENDPOINTS",
		Promise: "A node may get endpoints by name, but may not list or change them.",
		Source:  uniformSource,
	})
	certificateSigningRequests = promise(rules.Rule{
		ID:      "NA-UNI-CERTIFICATESIGNINGREQUESTS",
		Promise: "A node may create, get, list and watch certificate signing requests, but may never change, approve, sign or delete one.",
		Source:  uniformSource,
	})
	csiDrivers = promise(rules.Rule{
		ID:      "NA-UNI-CSIDRIVERS",
		Promise: "A node may get, list and watch CSI drivers, but may never write one.",
		Source:  uniformSource,
	})
	runtimeClasses = promise(rules.Rule{
		ID:      "NA-UNI-RUNTIMECLASSES",
		Promise: "A node may get, list and watch runtime classes, but may never write one.",
		Source:  uniformSource,
	})
	clusterTrustBundles = promise(rules.Rule{
		ID:      "NA-UNI-CLUSTERTRUSTBUNDLES",
		Promise: "While ClusterTrustBundle is on, a node may get, list and watch cluster trust bundles, but may never write one.",
		Source:  uniformSource,
	})
)

var (
	createOnly = []string{"create"}
	readOnly   = []string{"get", "list", "watch"}
)

// addUniform adds the resources on which all nodes have the same rights,
// whatever runs on them.
func addUniform(families map[schema.GroupResource]family, features Features) {
	for _, right := range []struct {
		rule            *rule
		group, resource string
		verbs           []string
	}{
		{tokenReviews, "authentication.k8s.io", "tokenreviews", createOnly},
		{subjectAccessReviews, "authorization.k8s.io", "subjectaccessreviews", createOnly},
		{localSubjectAccessReviews, "authorization.k8s.io", "localsubjectaccessreviews", createOnly},
		{services, "", "services", readOnly},
		{events, "", "events", []string{"create", "update", "patch"}},
		{events, "events.k8s.io", "events", []string{"create", "update", "patch"}},
		{endpoints, "", "endpoints", []string{"get"}},
		{csiDrivers, "storage.k8s.io", "csidrivers", readOnly},
		{runtimeClasses, "node.k8s.io", "runtimeclasses", readOnly},
		{clusterTrustBundles, "certificates.k8s.io", "clustertrustbundles", whileOn(features.ClusterTrustBundle, readOnly)},
	} {
		families[schema.GroupResource{Group: right.group, Resource: right.resource}] = uniform(right.rule, right.verbs)
	}
}

func whileOn(feature bool, verbs []string) []string {
	if feature {
		return verbs
	}
	return nil
}

// uniform allows the verbs on a resource, in every namespace and under every
// name, but on no subresource.
func uniform(r *rule, verbs []string) family {
	return func(_ string, a authorizer.Attributes) verdict {
		if a.GetSubresource() == "" && slices.Contains(verbs, a.GetVerb()) {
			return allow(r)
		}
		return refuse(r, noRuleAllows(a))
	}
}

// authorizeCertificateSigningRequest leaves the subresources that stand for
// questions of the approver to others.
func authorizeCertificateSigningRequest(_ string, a authorizer.Attributes) verdict {
	if isApproverQuestion(a.GetSubresource()) {
		return authorizeApproverQuestion(a)
	}
	if a.GetSubresource() != "" {
		return refuse(certificateSigningRequests, noRuleAllows(a))
	}
	switch a.GetVerb() {
	case "create", "get", "list", "watch":
		return allow(certificateSigningRequests)
	default:
		return refuse(certificateSigningRequests, noRuleAllows(a))
	}
}
