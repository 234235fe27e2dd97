// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"context"
	"slices"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	nodeRead = rules.Rule{
		ID: "NS-NODE-1",
		Description: "With nodes in its scope, a pod may get, list and watch only the Node that it is on, by name " +
			"or with the field selector metadata.name.",
		Source:    seed + ", use cases; KEP-4601",
		Extension: true,
	}
	nodeWrite = rules.Rule{
		ID: "NS-NODE-2",
		Description: "With nodes or nodes/status in its scope, a pod may update and patch only the Node that it " +
			"is on, or its status. It may not create or delete Nodes. Admission decides what it may write.",
		Source:    seed + ", use cases: node-problem-detector, node termination handler; CVE-2023-26484, CVE-2023-30840",
		Extension: true,
	}
	nodeKubelet = rules.Rule{
		ID: "NS-NODE-3",
		Description: "With nodes, or the subresource, in its scope, a pod may use the subresources that authorize " +
			"a kubelet's API (proxy, metrics, stats, log, pods and others) only of the Node that it is on, and " +
			"only if RBAC allows it.",
		Source:    "KEP-2862; pkg/kubelet/server/auth.go; pkg/registry/core/node/rest",
		Extension: true,
	}
)

// kubeletSubresources are the subresources of a Node that give access to its kubelet. Requests
// come through the API server (proxy), or directly to the kubelet's port (all of them). Only
// kubelet-auth-proxy checks the last seven.
//
// Source: pkg/kubelet/server/auth.go GetRequestAttributes; package kubeletauth.
var kubeletSubresources = []string{
	"proxy", "metrics", "stats", "log", "spec", "checkpoint", "healthz", "configz", "pods", "statusz",
	"attach", "containerlogs", "debug", "exec", "portforward", "run", "unknown",
}

// authorizeKubelet compares the exact name. It denies a name with a scheme or a port
// ("https:node:10250"): another port leads to other programs on the node.
func authorizeKubelet(node string, r Resource, a *request) rules.Decision {
	if a.Name != node {
		return deny(nodeKubelet,
			"a pod on node '"+node+"' cannot "+a.Verb+" "+r.String()+" of '"+a.Name+"', only of its own node")
	}
	return noOpinion(nodeKubelet)
}

// authorizeNode also checks the name for writes. The node authorizer leaves that check to
// admission.
func (z *Authorizer) authorizeNode(ctx context.Context, node string, r Resource, a *request) rules.Decision {
	if slices.Contains(kubeletSubresources, r.Subresource) {
		return authorizeKubelet(node, r, a)
	}
	switch a.Verb {
	case "get", "list", "watch":
		return z.asNode(ctx, nodeRead, node, a, a.Verb, r)
	case "update", "patch":
		if a.Name != node {
			return deny(nodeWrite,
				"a pod on node '"+node+"' cannot "+a.Verb+" "+r.String()+" of '"+a.Name+"', only of its own node")
		}
		return z.asNode(ctx, nodeWrite, node, a, a.Verb, r)
	case "create":
		return deny(nodeWrite, "a pod that is limited to its node creates no "+r.String())
	default:
		return z.asNode(ctx, nodeWrite, node, a, a.Verb, r)
	}
}
