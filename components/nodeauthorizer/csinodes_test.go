// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import "testing"

const (
	csiNodeVerbs = "can only get, create, update, patch, or delete a CSINode "
	csiNodeName  = "can only access CSINode with the same name as the requesting node "
)

// csi returns a request for CSINodes.
func csi(verb, subresource, name string) request {
	return request{Verb: verb, APIGroup: "storage.k8s.io", Resource: "csinodes", Subresource: subresource, Name: name}
}

func TestCSINodes(t *testing.T) { run(t, csiNodeRows()) }

func csiNodeRows() []row {
	const gate = "CSINode status access requires CSIVolumeHealth feature "
	return []row{
		{"the creation of a CSINode may do so", csi("create", "", ""), allowed, "[NA-CSINODE-1]"},
		{"a list of CSINodes is refused", csi("list", "", ""), refused, csiNodeVerbs + "[NA-CSINODE-1]"},
		{"a watch of its CSINode is refused", csi("watch", "", "me"), refused, csiNodeVerbs + "[NA-CSINODE-1]"},
		{"the deletion of all CSINodes is refused", csi("deletecollection", "", ""), refused,
			csiNodeVerbs + "[NA-CSINODE-1]"},
		{"its CSINode may get it", csi("get", "", "me"), allowed, "[NA-CSINODE-2]"},
		{"the update of its CSINode may do so", csi("update", "", "me"), allowed, "[NA-CSINODE-2]"},
		{"the patch of its CSINode may do so", csi("patch", "", "me"), allowed, "[NA-CSINODE-2]"},
		{"the deletion of its CSINode may do so", csi("delete", "", "me"), allowed, "[NA-CSINODE-2]"},
		{"another CSINode is refused", csi("get", "", "other"), refused, csiNodeName + "[NA-CSINODE-2]"},
		{"the deletion of another CSINode is refused", csi("delete", "", "other"), refused, csiNodeName + "[NA-CSINODE-2]"},
		{"a CSINode without a name is refused", csi("get", "", ""), refused, csiNodeName + "[NA-CSINODE-2]"},
		{"the status of its CSINode is refused", csi("get", "status", "me"), refused, gate + "[NA-CSINODE-2]"},
		{"an unknown subresource is refused", csi("get", "scale", "me"), refused,
			"cannot authorize CSINode subresources [NA-CSINODE-2]"},
	}
}

func TestCSINodeStatus(t *testing.T) {
	runWith(t, Features{CSIVolumeHealth: true}, []row{
		{"the status of its CSINode may get it", csi("get", "status", "me"), allowed, "[NA-CSINODE-2]"},
		{"the update of its status may do so", csi("update", "status", "me"), allowed, "[NA-CSINODE-2]"},
		{"the patch of its status may do so", csi("patch", "status", "me"), allowed, "[NA-CSINODE-2]"},
		{"the status of another CSINode is refused", csi("get", "status", "other"), refused, csiNodeName + "[NA-CSINODE-2]"},
		{"the creation of a status is refused", csi("create", "status", "me"), refused,
			"can only get, update, or patch CSINode status [NA-CSINODE-2]"},
		{"the deletion of a status is refused", csi("delete", "status", "me"), refused,
			"can only get, update, or patch CSINode status [NA-CSINODE-2]"},
		{"an unknown subresource is refused", csi("get", "scale", "me"), refused,
			"cannot authorize CSINode subresources [NA-CSINODE-2]"},
	})
}
