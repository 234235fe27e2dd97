// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import "github.com/bulkhead-k8s/bulkhead/components/rules"

// These stand before or behind all other rules. They allow nothing themselves:
// what they let through, another rule decides.
var (
	identityNamed = rules.Rule{
		ID: "NA-IDENT-1",
		Description: "A node must say which node it is: a user in system:nodes named \"system:node:\" and nothing more " +
			"gets nothing.",
		Source: "plugin/pkg/auth/authorizer/node/node_authorizer.go Authorize; kubernetes/design-proposals-archive " +
			"node/kubelet-authorizer.md (Scoped Kubelet API Access)",
	}
	unready = rules.Rule{
		ID: "NA-UNREADY",
		Description: "Until it has seen the whole cluster, and while it hears nothing of it any more, the authorizer " +
			"neither allows nor denies what a node asks, but leaves it to the authorizers behind.",
		Source: "Bulkhead: in-tree refuses while its informers fill (kubernetes/kubernetes#92506), and decides from " +
			"what it saw last when its watches fail",
		Extension: true,
	}
	nothingElse = rules.Rule{
		ID:          "NA-DEFAULT",
		Description: "A node gets only what a rule gives it: a request for any resource that no rule speaks of is refused.",
		Source: "plugin/pkg/auth/authorizer/node/node_authorizer.go Authorize; " +
			"plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go NodeRules",
	}
	// limit is decided by the transport, before the authorizer is asked; it is
	// listed here because its refusals are this component's.
	limit = rules.Rule{
		ID: "NA-LIMIT",
		Description: "A node never has more than its share of requests in flight, nor a review larger than a kubelet's can " +
			"be. What is too large, or finds no place within a second, is denied, in every mode and before the cluster has " +
			"been seen, and is never an error that would open the way to other authorizers.",
		Source:    "Bulkhead: an error or a 429 would make the API server retry and then ask the authorizers behind",
		Extension: true,
	}
)
