// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import "github.com/bulkhead-k8s/bulkhead/components/rules"

var (
	csiNodeCreate = rules.Rule{
		ID:          "NA-CSINODE-1",
		Description: "A node may create a CSINode. It may not list, watch or delete a collection of them.",
		Source:      "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeCSINode",
	}
	csiNodeOwnName = rules.Rule{
		ID: "NA-CSINODE-2",
		Description: "A node may get, update, patch and delete only the CSINode that has its own name. It may " +
			"write the status only while CSIVolumeHealth is on.",
		Source: "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeCSINode",
	}
)

const (
	csiNodeStatusOff    = "CSINode status access requires CSIVolumeHealth feature"
	csiNodeStatusVerbs  = "can only get, update, or patch CSINode status"
	csiNodeSubresources = "cannot authorize CSINode subresources"
	wholeCSINodeVerbs   = "can only get, create, update, patch, or delete a CSINode"
	csiNodeOfAnother    = "can only access CSINode with the same name as the requesting node"
)

// authorizeCSINode limits a node to its own CSINode. The name of a CSINode that is being created is
// not known here, so admission checks it.
func (z *Authorizer) authorizeCSINode(node string, a *request) rules.Decision {
	verb := a.Verb
	switch a.Subresource {
	case "":
		return authorizeWholeCSINode(node, a)
	case "status":
		if !z.features.CSIVolumeHealth {
			return deny(csiNodeOwnName, csiNodeStatusOff)
		}
		if verb != "get" && verb != "update" && verb != "patch" {
			return deny(csiNodeOwnName, csiNodeStatusVerbs)
		}
		return ownCSINode(node, a)
	default:
		return deny(csiNodeOwnName, csiNodeSubresources)
	}
}

func authorizeWholeCSINode(node string, a *request) rules.Decision {
	switch a.Verb {
	case "create":
		return allow(csiNodeCreate)
	case "get", "update", "patch", "delete":
		return ownCSINode(node, a)
	default:
		return deny(csiNodeCreate, wholeCSINodeVerbs)
	}
}

func ownCSINode(node string, a *request) rules.Decision {
	if a.Name != node {
		return deny(csiNodeOwnName, csiNodeOfAnother)
	}
	return allow(csiNodeOwnName)
}
