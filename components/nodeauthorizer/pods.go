// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"context"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	podGet = rules.Rule{
		ID:          "NA-POD-1",
		Description: "A node may get only a pod that is bound to it.",
		Source:      "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizePod; KEP-4601",
	}
	podList = rules.Rule{
		ID: "NA-POD-2",
		Description: "A node may list and watch pods only with the field selector spec.nodeName set to its own name, or by " +
			"the name of one pod that is bound to it.",
		Source: "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizePod; KEP-4601",
	}
	podWrite = rules.Rule{
		ID: "NA-POD-3",
		Description: "A node may create and delete pods, but may not change one, or delete a collection. " +
			"Admission limits it to mirror pods and to its own pods.",
		Source: "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizePod",
	}
	podStatus = rules.Rule{
		ID: "NA-POD-4",
		Description: "Of the subresources of pods, a node may only update and patch the status and create " +
			"evictions. Admission limits these writes to its own pods. It may never use exec, attach, log or " +
			"binding.",
		Source: "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizePod",
	}
	podEviction = rules.Rule{
		ID: "NA-POD-5",
		Description: "A node may create evictions of pods, and do nothing else with them. Admission limits it to " +
			"its own pods.",
		Source: "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizePod",
	}
	podEnded = rules.Rule{
		ID: "NA-POD-6",
		Description: "When the grace period after a pod's end is over, the pod gives its node no access to " +
			"secrets, config maps, service accounts and tokens. Its volumes and the pod itself stay readable.",
		Source: "Bulkhead: upstream relates what a pod names until the pod is deleted " +
			"(plugin/pkg/auth/authorizer/node/graph.go AddPod)",
		Extension: true,
		Optional:  true,
	}
)

const podsOfAll = "can only list/watch pods with spec.nodeName field selector"

func (z *Authorizer) authorizePod(ctx context.Context, node string, a *request) rules.Decision {
	if a.Subresource != "" {
		return z.authorizePodSubresource(ctx, node, a)
	}
	switch a.Verb {
	case "get":
		return z.get(ctx, podGet, node, graph.Pod, a)
	case "list", "watch":
		return z.authorizePodList(ctx, node, a)
	case "create", "delete":
		return z.ifRegistered(ctx, node, podWrite)
	default:
		return noRule(podWrite, a)
	}
}

func (z *Authorizer) authorizePodList(ctx context.Context, node string, a *request) rules.Decision {
	if selectsNode(node, a) {
		return allow(podList)
	}
	if a.Name != "" {
		return z.related(ctx, podList, node, graph.Pod, a)
	}
	return deny(podList, podsOfAll)
}

func (z *Authorizer) authorizePodSubresource(ctx context.Context, node string, a *request) rules.Decision {
	verb := a.Verb
	switch {
	case a.Subresource == "status" && (verb == "update" || verb == "patch"):
		return z.ifRegistered(ctx, node, podStatus)
	case a.Subresource == "eviction" && verb == "create":
		return z.ifRegistered(ctx, node, podEviction)
	case a.Subresource == "eviction":
		return noRule(podEviction, a)
	default:
		return noRule(podStatus, a)
	}
}
