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
		Description: "On a resource in its scope, a pod may do only what the node authorizer allows the node that it is " +
			"on, and only if RBAC allows it too; what is in no other rule of this table is decided so.",
		Source:    seedAuth,
		Extension: true,
	}
	notInScope = rules.Rule{
		ID: "NS-PASS-1",
		Description: "What is not in the scope of its account or of itself, a pod asks of the authorizers behind, as if it " +
			"had no scope.",
		Source:    seedAuth,
		Extension: true,
	}
	neverInScope = rules.Rule{
		ID: "NS-PASS-2",
		Description: "Requests for no resource (discovery, health, metrics) and questions about one's own identity and " +
			"rights (SelfSubjectAccessReview, SelfSubjectRulesReview, SelfSubjectReview) are in no scope, whatever it says.",
		Source: "plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go ClusterRoles: system:basic-user, " +
			"system:discovery, system:public-info-viewer",
		Extension: true,
	}
	unready = rules.Rule{
		ID: "NS-UNREADY",
		Description: "Nothing is left to others for want of knowledge: until the whole cluster has been seen, and while it " +
			"or an account, or an object that has to be read, cannot be read, who is sent here is denied.",
		Source:    "Bulkhead: RBAC behind would allow the account the whole cluster",
		Extension: true,
	}
	// The transport decides limit before it calls the authorizer. The rule is listed here
	// because its denials are denials of node scope.
	limit = rules.Rule{
		ID: "NS-LIMIT",
		Description: "A review that is too large, or that finds no place within a second, is denied, and is never an error " +
			"that would open the way to other authorizers.",
		Source:    "Bulkhead: as NA-LIMIT",
		Extension: true,
	}
)
