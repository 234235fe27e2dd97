// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import "github.com/bulkhead-k8s/bulkhead/components/rules"

// Rules are all rules of this package, in the order of the documentation. NS-UNREADY and
// NS-LIMIT only deny. The NS-PASS rules only leave requests to the next authorizers.
var Rules = []rules.Rule{
	credentialRevoked,
	accountNamed,
	podClaimed,
	podCurrent,
	nodeAgrees,
	asItsNode,
	nodeRead,
	nodeWrite,
	nodeKubelet,
	podRead,
	podPatch,
	podWrite,
	podStream,
	customSelected,
	customRead,
	impersonation,
	tokenCreate,
	rightsGrant,
	notInScope,
	neverInScope,
	audited,
	unready,
	limit,
}

const (
	seed     = "kubernetes/enhancements#944 (Node-Scoped DaemonSet)"
	seedAuth = seed + ", Workflow of NodeAuthorizer"
)

// These rules apply before or after all other rules.
var (
	asItsNode = rules.Rule{
		ID: "NS-SCOPE-1",
		Description: "On a resource in its scope, a pod may do only what the node authorizer allows the pod's " +
			"node, and only if RBAC allows it too. This rule decides what no other rule of node scope decides.",
		Source:    seedAuth,
		Extension: true,
	}
	notInScope = rules.Rule{
		ID: "NS-PASS-1",
		Description: "The next authorizers decide on resources that are neither in the scope of the account nor " +
			"in that of the pod, as if there were no scope.",
		Source:    seedAuth,
		Extension: true,
	}
	neverInScope = rules.Rule{
		ID: "NS-PASS-2",
		Description: "Requests without a resource (discovery, health, metrics) and reviews of one's own identity " +
			"and rights (SelfSubjectAccessReview, SelfSubjectRulesReview, SelfSubjectReview) are in no scope.",
		Source: "plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go ClusterRoles: system:basic-user, " +
			"system:discovery, system:public-info-viewer",
		Extension: true,
	}
	unready = rules.Rule{
		ID: "NS-UNREADY",
		Description: "A request is denied if the state that it depends on is unknown: until the whole cluster has " +
			"been read, while the watches are stale, and if an account or an object cannot be read.",
		Source:    "Bulkhead: RBAC behind would allow the account the whole cluster",
		Extension: true,
	}
	// The transport decides limit before it calls the authorizer. The rule is listed here
	// because its denials are denials of node scope.
	limit = rules.Rule{
		ID: "NS-LIMIT",
		Description: "A review that is too large, or that gets no place in time, is denied. The answer " +
			"is never an error, because an error would let another authorizer decide.",
		Source:    "Bulkhead: as NA-LIMIT",
		Extension: true,
	}
)
