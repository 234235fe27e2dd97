// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import "github.com/bulkhead-k8s/bulkhead/components/rules"

var (
	csiNodeCreate = promise(rules.Rule{
		ID:          "NA-CSINODE-1",
		Description: "A node may create a CSINode; it may not list, watch or delete many at once.",
		Source:      "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeCSINode",
	})
	csiNodeOwnName = promise(rules.Rule{
		ID:          "NA-CSINODE-2",
		Description: "A node may get, update, patch and delete only the CSINode that bears its own name, and its status only while CSIVolumeHealth is on.",
		Source:      "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeCSINode",
	})
)

var (
	csiNodeStatusOff    = say("CSINode status access requires CSIVolumeHealth feature")
	csiNodeStatusVerbs  = say("can only get, update, or patch CSINode status")
	csiNodeSubresources = say("cannot authorize CSINode subresources")
	wholeCSINodeVerbs   = say("can only get, create, update, patch, or delete a CSINode")
	csiNodeOfAnother    = say("can only access CSINode with the same name as the requesting node")
)

// authorizeCSINode keeps a node to its own CSINode. The name of one that is
// being created is not known here; admission checks it.
func (z *Authorizer) authorizeCSINode(node string, a *request) verdict {
	verb := a.Verb
	switch a.Subresource {
	case "":
		return authorizeWholeCSINode(node, a)
	case "status":
		if !z.features.CSIVolumeHealth {
			return refuse(csiNodeOwnName, csiNodeStatusOff)
		}
		if verb != "get" && verb != "update" && verb != "patch" {
			return refuse(csiNodeOwnName, csiNodeStatusVerbs)
		}
		return ownCSINode(node, a)
	default:
		return refuse(csiNodeOwnName, csiNodeSubresources)
	}
}

func authorizeWholeCSINode(node string, a *request) verdict {
	switch a.Verb {
	case "create":
		return allow(csiNodeCreate)
	case "get", "update", "patch", "delete":
		return ownCSINode(node, a)
	default:
		return refuse(csiNodeCreate, wholeCSINodeVerbs)
	}
}

func ownCSINode(node string, a *request) verdict {
	if a.Name != node {
		return refuse(csiNodeOwnName, csiNodeOfAnother)
	}
	return allow(csiNodeOwnName)
}
