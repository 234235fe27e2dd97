// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import "github.com/bulkhead-k8s/bulkhead/components/rules"

var (
	nodeRead = rules.Rule{
		ID:          "NA-NODE-1",
		Description: "A node may get, list and watch only its own Node object, even before that object exists.",
		Source:      "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeNode; KEP-4601",
	}
	nodeWrite = rules.Rule{
		ID: "NA-NODE-2",
		Description: "A node may create, update and patch Node objects, but may not delete one. Admission limits " +
			"the writes to its own Node.",
		Source: "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeNode",
	}
	nodeStatus = rules.Rule{
		ID: "NA-NODE-3",
		Description: "Of the subresources of nodes, a node may only update and patch the status. Admission limits " +
			"these writes to its own Node. It may never use proxy.",
		Source: "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeNode",
	}
)

func authorizeNode(node string, a *request) rules.Decision {
	if a.Subresource != "" {
		return authorizeNodeSubresource(a)
	}
	switch a.Verb {
	case "get", "list", "watch":
		return authorizeNodeRead(node, a.Name)
	case "create", "update", "patch":
		return allow(nodeWrite)
	default:
		return noRule(nodeWrite, a)
	}
}

func authorizeNodeRead(node, name string) rules.Decision {
	switch name {
	case node:
		return allow(nodeRead)
	case "":
		return deny(nodeRead, "node '"+node+"' cannot read all nodes, only its own Node object")
	default:
		return deny(nodeRead, "node '"+node+"' cannot read '"+name+"', only its own Node object")
	}
}

func authorizeNodeSubresource(a *request) rules.Decision {
	if a.Subresource == "status" && (a.Verb == "update" || a.Verb == "patch") {
		return allow(nodeStatus)
	}
	return noRule(nodeStatus, a)
}
