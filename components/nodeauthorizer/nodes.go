// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"fmt"

	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	nodeRead = promise(rules.Rule{
		ID:      "NA-NODE-1",
		Promise: "A node may get, list and watch only its own Node object, even before that object exists.",
		Source:  "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeNode; KEP-4601",
	})
	nodeWrite = promise(rules.Rule{
		ID:      "NA-NODE-2",
		Promise: "A node may create, update and patch Node objects (admission holds it to its own), but may never delete one.",
		Source:  "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeNode",
	})
	nodeStatus = promise(rules.Rule{
		ID:      "NA-NODE-3",
		Promise: "Of the subresources of nodes, a node may only update and patch the status (admission holds it to its own); never proxy.",
		Source:  "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeNode",
	})
)

func authorizeNode(node string, a authorizer.Attributes) verdict {
	if a.GetSubresource() != "" {
		return authorizeNodeSubresource(a)
	}
	switch a.GetVerb() {
	case "get", "list", "watch":
		return authorizeNodeRead(node, a.GetName())
	case "create", "update", "patch":
		return allow(nodeWrite)
	default:
		return refuse(nodeWrite, noRuleAllows(a))
	}
}

func authorizeNodeRead(node, name string) verdict {
	switch name {
	case node:
		return allow(nodeRead)
	case "":
		return refuse(nodeRead, fmt.Sprintf("node '%s' cannot read all nodes, only its own Node object", node))
	default:
		return refuse(nodeRead, fmt.Sprintf("node '%s' cannot read '%s', only its own Node object", node, name))
	}
}

func authorizeNodeSubresource(a authorizer.Attributes) verdict {
	if a.GetSubresource() == "status" && (a.GetVerb() == "update" || a.GetVerb() == "patch") {
		return allow(nodeStatus)
	}
	return refuse(nodeStatus, noRuleAllows(a))
}
