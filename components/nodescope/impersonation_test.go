// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import "testing"

func TestImpersonation(t *testing.T) { run(t, impersonationRows()) }

func impersonationRows() []row {
	// The API server asks in the name of all pods of the account.
	allPods := tokenOf("agent",
		map[string][]string{"authentication.kubernetes.io/associated-node-keys": {nodeName, nodeUID, podName, podUID}})
	const refusal = "a pod that is held to its node may impersonate that node and nobody else [NS-IMPERSONATE-1]"
	free := tokenOf("free", claimsOf("free-me", "uid-free", "me"))
	return []row{
		{"leave to be its node may have it", allPods, "",
			request{Verb: "impersonate:associated-node", APIGroup: "authentication.k8s.io", Resource: "nodes", Name: "*"}, true,
			"[NS-IMPERSONATE-1]"},
		{"leave to be its node with everything in its scope may have it", allPods, "*",
			request{Verb: "impersonate:associated-node", APIGroup: "authentication.k8s.io", Resource: "nodes", Name: "*"}, true,
			"[NS-IMPERSONATE-1]"},
		{"leave to list secrets as its node may have it", allPods, "",
			request{Verb: "impersonate-on:associated-node:list", Resource: "secrets", Namespace: "ns"}, true,
			"[NS-IMPERSONATE-1]"},
		{"leave to be any node is refused", nil, "",
			request{Verb: "impersonate:arbitrary-node", APIGroup: "authentication.k8s.io", Resource: "nodes", Name: "other"},
			false, refusal},
		{"leave to list secrets as any node is refused", nil, "",
			request{Verb: "impersonate-on:arbitrary-node:list", Resource: "secrets", Namespace: "ns"}, false, refusal},
		{"leave to be another account is refused", nil, "",
			request{Verb: "impersonate:serviceaccount", APIGroup: "authentication.k8s.io", Resource: "serviceaccounts",
				Namespace: "ns", Name: "x"}, false, refusal},
		{"leave to be another user is refused", nil, "",
			request{Verb: "impersonate:user-info", APIGroup: "authentication.k8s.io", Resource: "users", Name: "x"}, false,
			refusal},
		{"leave to be another user in the old way is refused", nil, "",
			request{Verb: "impersonate", Resource: "users", Name: "admin"}, false, refusal},
		{"leave to be a group in the old way is refused", nil, "",
			request{Verb: "impersonate", Resource: "groups", Name: "system:masters"}, false, refusal},
		{"leave to be itself with other claims is refused", nil, "",
			request{Verb: "impersonate", APIGroup: "authentication.k8s.io", Resource: "userextras", Subresource: podName,
				Name: "agent-other"}, false, refusal},
		{"leave to be another user, with a scope of one resource, is refused", nil, "secrets",
			request{Verb: "impersonate", Resource: "users", Name: "admin"}, false, refusal},
		{"leave to be another user, without a scope, may have it", free, "",
			request{Verb: "impersonate", Resource: "users", Name: "admin"}, true, "[NS-PASS-1]"},
		{"leave to be its node, which is nearly so called, is refused", allPods, "",
			request{Verb: "impersonate:associated-nodes", APIGroup: "authentication.k8s.io", Resource: "nodes", Name: "*"},
			false, refusal},
	}
}
