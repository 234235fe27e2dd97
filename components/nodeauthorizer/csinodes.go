// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	csiNodeCreate = promise(rules.Rule{
		ID:      "NA-CSINODE-1",
		Promise: "A node may create a CSINode; it may not list, watch or delete many at once.",
		Source:  "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeCSINode",
	})
	csiNodeOwnName = promise(rules.Rule{
		ID:      "NA-CSINODE-2",
		Promise: "A node may get, update, patch and delete only the CSINode that bears its own name, and its status only while CSIVolumeHealth is on.",
		Source:  "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeCSINode",
	})
)

// authorizeCSINode keeps a node to its own CSINode. The name of one that is
// being created is not known here; admission checks it.
func (z *Authorizer) authorizeCSINode(node string, a authorizer.Attributes) verdict {
	verb := a.GetVerb()
	switch a.GetSubresource() {
	case "":
		return authorizeWholeCSINode(node, a)
	case "status":
		if !z.features.CSIVolumeHealth {
			return refuse(csiNodeOwnName, "CSINode status access requires CSIVolumeHealth feature")
		}
		if verb != "get" && verb != "update" && verb != "patch" {
			return refuse(csiNodeOwnName, "can only get, update, or patch CSINode status")
		}
		return ownCSINode(node, a)
	default:
		return refuse(csiNodeOwnName, "cannot authorize CSINode subresources")
	}
}

func authorizeWholeCSINode(node string, a authorizer.Attributes) verdict {
	switch a.GetVerb() {
	case "create":
		return allow(csiNodeCreate)
	case "get", "update", "patch", "delete":
		return ownCSINode(node, a)
	default:
		return refuse(csiNodeCreate, "can only get, create, update, patch, or delete a CSINode")
	}
}

func ownCSINode(node string, a authorizer.Attributes) verdict {
	if a.GetName() != node {
		return refuse(csiNodeOwnName, "can only access CSINode with the same name as the requesting node")
	}
	return allow(csiNodeOwnName)
}
