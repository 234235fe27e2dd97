// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"context"
	"slices"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	podRead = rules.Rule{
		ID: "NS-POD-1",
		Description: "With pods in its scope, a pod may get only pods on its own node, and list and watch them only with " +
			"the field selector spec.nodeName set to that node, or by the name of one pod on it.",
		Source:    seed + ", use cases; KEP-4601",
		Extension: true,
	}
	podPatch = rules.Rule{
		ID: "NS-POD-2",
		Description: "With pods in its scope, a pod may patch a pod on its own node, which a kubelet may not. It " +
			"may not update a whole pod.",
		Source:    seed + ", use cases: calico",
		Extension: true,
	}
	podWrite = rules.Rule{
		ID: "NS-POD-3",
		Description: "With the resource in its scope, a pod may delete and evict pods on its own node, and update " +
			"and patch their status. It may not create pods, delete a collection, or use other subresources than " +
			"these and those of NS-POD-4.",
		Source:    seed + ", use cases: node termination handler; antrea-io/antrea#4651",
		Extension: true,
	}
	podStream = rules.Rule{
		ID: "NS-POD-4",
		Description: "With pods, or the subresource, in its scope, a pod may use log, exec, attach, portforward " +
			"and proxy only of pods on its own node, and only if RBAC allows it.",
		Source:    "Bulkhead: the kubelet of the node serves all of these; pkg/registry/core/pod/rest",
		Extension: true,
	}
)

// streamSubresources are the subresources of a pod that the kubelet of its node serves. The
// exact name is compared, so a name with a port ("pod:8080") matches no pod.
var streamSubresources = []string{"log", "exec", "attach", "portforward", "proxy"}

// thePod is the parent resource of a pod's subresources.
var thePod = Resource{Resource: "pods"}

// authorizePod asks the node authorizer whether the node may get the pod. The node may get only
// pods that are bound to it, so the answer shows whether the pod is on the node. Before the
// node authorizer denies, it reads the current state of the cluster.
func (z *Authorizer) authorizePod(ctx context.Context, node string, r Resource, a *request) rules.Decision {
	switch {
	case slices.Contains(streamSubresources, r.Subresource):
		return z.asNode(ctx, podStream, node, a, "get", thePod)
	case r.Subresource != "":
		return z.authorizePodWrite(ctx, node, r, a)
	}
	switch a.Verb {
	case "get", "list", "watch":
		return z.asNode(ctx, podRead, node, a, a.Verb, r)
	case "patch":
		return z.asNode(ctx, podPatch, node, a, "get", thePod)
	case "update":
		return z.asNode(ctx, podPatch, node, a, a.Verb, r)
	case "create":
		return deny(podWrite, "a pod that is limited to its node creates no pods")
	default:
		return z.authorizePodWrite(ctx, node, r, a)
	}
}

// authorizePodWrite requires two things: a node may do this to pods, and this pod is on the
// node.
func (z *Authorizer) authorizePodWrite(ctx context.Context, node string, r Resource, a *request) rules.Decision {
	v := z.asNode(ctx, podWrite, node, a, a.Verb, r)
	if v.Effect == rules.Deny {
		return v
	}
	on := z.asNode(ctx, podWrite, node, a, "get", thePod)
	on.Findings = append(v.Findings, on.Findings...)
	return on
}
