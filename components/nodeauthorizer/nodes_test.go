// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"testing"

	"k8s.io/apimachinery/pkg/selection"
)

func TestNodes(t *testing.T) { run(t, nodeRows()) }

func nodeRows() []row {
	const notAll = "node 'me' cannot read all nodes, only its own Node object "
	return []row{
		{"itself may get it", request{Verb: "get", Resource: "nodes", Name: "me"}, allowed, "[NA-NODE-1]"},
		{"a list of itself may have it", request{Verb: "list", Resource: "nodes", Name: "me"}, allowed, "[NA-NODE-1]"},
		{"a watch of itself may have it", request{Verb: "watch", Resource: "nodes", Name: "me"}, allowed, "[NA-NODE-1]"},
		{"another node is refused", request{Verb: "get", Resource: "nodes", Name: "other"}, refused,
			"node 'me' cannot read 'other', only its own Node object [NA-NODE-1]"},
		{"a watch of another node is refused", request{Verb: "watch", Resource: "nodes", Name: "other"}, refused,
			"node 'me' cannot read 'other', only its own Node object [NA-NODE-1]"},
		{"all nodes is refused", request{Verb: "list", Resource: "nodes"}, refused, notAll + "[NA-NODE-1]"},
		{"all nodes with a selector for pods is refused",
			request{Verb: "list", Resource: "nodes",
				FieldSelectorRequirements: selecting("spec.nodeName", selection.Equals, "me")}, refused, notAll + "[NA-NODE-1]"},
		{"the creation of a node may do so", request{Verb: "create", Resource: "nodes"}, allowed, "[NA-NODE-2]"},
		{"its own update may do so", request{Verb: "update", Resource: "nodes", Name: "me"}, allowed, "[NA-NODE-2]"},
		{"a patch of another node is left to admission", request{Verb: "patch", Resource: "nodes", Name: "other"}, allowed,
			"[NA-NODE-2]"},
		{"its own deletion is refused", request{Verb: "delete", Resource: "nodes", Name: "me"}, refused,
			"no rule allows a node to delete nodes [NA-NODE-2]"},
		{"the deletion of all nodes is refused", request{Verb: "deletecollection", Resource: "nodes"}, refused,
			"no rule allows a node to deletecollection nodes [NA-NODE-2]"},
		{"the update of its status may do so", request{Verb: "update", Resource: "nodes", Subresource: "status", Name: "me"},
			allowed, "[NA-NODE-3]"},
		{"the patch of its status may do so", request{Verb: "patch", Resource: "nodes", Subresource: "status", Name: "me"},
			allowed, "[NA-NODE-3]"},
		{"its status, to read it, is refused", request{Verb: "get", Resource: "nodes", Subresource: "status", Name: "me"},
			refused, "no rule allows a node to get nodes/status [NA-NODE-3]"},
		{"its own kubelet by proxy is refused", request{Verb: "get", Resource: "nodes", Subresource: "proxy", Name: "me"},
			refused, "no rule allows a node to get nodes/proxy [NA-NODE-3]"},
		{"the update of its proxy is refused", request{Verb: "update", Resource: "nodes", Subresource: "proxy", Name: "me"},
			refused, "no rule allows a node to update nodes/proxy [NA-NODE-3]"},
		{"nodes of another group is refused", request{Verb: "get", APIGroup: "metrics.k8s.io", Resource: "nodes", Name: "me"},
			refused, "no rule allows a node to get nodes.metrics.k8s.io [NA-DEFAULT]"},
	}
}
