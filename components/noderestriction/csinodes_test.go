// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"testing"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/utils/ptr"
)

func aCSINode(name string, edits ...func(*storagev1.CSINodeDriver)) *storagev1.CSINode {
	driver := storagev1.CSINodeDriver{
		Name: "csi.example.com", NodeID: name, TopologyKeys: []string{"zone"},
		Allocatable: &storagev1.VolumeNodeResources{Count: ptr.To[int32](8)},
	}
	for _, edit := range edits {
		edit(&driver)
	}
	return &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{driver}},
	}
}

func TestCSINodes(t *testing.T) {
	const (
		group = "csinodes.storage.k8s.io "
		name  = " is forbidden: can only access CSINode with the same name as the requesting node [NR-CSINODE-1]"
	)
	mine, others := aCSINode("me"), aCSINode("other")
	run(t, restrict(aCluster()), []row{
		{name: "create own CSINode: allowed", write: write("me", admission.Create, "csinodes", "", mine, nil)},
		{name: "create other node's CSINode: denied",
			write: write("me", admission.Create, "csinodes", "", others, nil), by: "NR-CSINODE-1",
			says: group + `"other"` + name},
		{name: "create other node's CSINode under the own request name: denied",
			write: write("me", admission.Create, "csinodes", "", others, nil, named("me")), by: "NR-CSINODE-1",
			says: group + `"me"` + name},
		{name: "create CSINode without an object: denied",
			write: write("me", admission.Create, "csinodes", "", nil, nil, named("me")), by: "NR-CSINODE-1",
			says: group + `"me" is forbidden: unable to access the object name [NR-CSINODE-1]`},
		{name: "create CSINode with an object of another type: denied",
			write: write("me", admission.Create, "csinodes", "", aNode("me"), nil),
			by:    "NR-CSINODE-1", says: group + `"me" is forbidden: unable to access the object name [NR-CSINODE-1]`},
		{name: "update own CSINode: allowed",
			write: write("me", admission.Update, "csinodes", "", mine,
				aCSINode("me", func(d *storagev1.CSINodeDriver) { d.NodeID = "was" }))},
		{name: "update other node's CSINode: denied",
			write: write("me", admission.Update, "csinodes", "", others, others), by: "NR-CSINODE-1",
			says: group + `"other"` + name},
		{name: "delete own CSINode: allowed", write: write("me", admission.Delete, "csinodes", "", nil, mine)},
		{name: "delete other node's CSINode: denied",
			write: write("me", admission.Delete, "csinodes", "", nil, others), by: "NR-CSINODE-1",
			says: group + `"other"` + name},
		{name: "delete a collection of CSINodes: denied",
			write: write("me", admission.Delete, "csinodes", "", nil, mine, named("")), by: "NR-CSINODE-1",
			says: group + `"Unknown"` + name},
		{name: "update CSINode status without the feature gate: denied",
			write: write("me", admission.Update, "csinodes", "status", mine, mine),
			by:    "NR-CSINODE-2", says: group + `"me" is forbidden: CSIVolumeHealth feature gate is disabled [NR-CSINODE-2]`},
		{name: "update other node's CSINode status: denied by NR-CSINODE-1",
			write: write("me", admission.Update, "csinodes", "status", others, others), by: "NR-CSINODE-1",
			says: group + `"other"` + name},
	})
}

func TestCSINodeStatus(t *testing.T) {
	const (
		about = `csinodes.storage.k8s.io "me" is forbidden: `
		spec  = about + `node "me" is not allowed to modify CSINode spec via status [NR-CSINODE-2]`
	)
	old, now := aCSINode("me"), aCSINode("me")
	now.Status.StorageHealth = []storagev1.StorageHealth{{Name: "csi.example.com"}}
	rows := []row{
		{name: "update own CSINode status: allowed",
			write: write("me", admission.Update, "csinodes", "status", now, old)},
		{name: "create CSINode status: denied", write: write("me", admission.Create, "csinodes", "status", now, nil),
			by: "NR-CSINODE-2", says: about + `unexpected operation "CREATE" [NR-CSINODE-2]`},
		{name: "update CSINode status without an old object: denied",
			write: write("me", admission.Update, "csinodes", "status", now, nil), by: "NR-CSINODE-2",
			says: about + `unexpected type <nil> [NR-CSINODE-2]`},
		{name: "update CSINode status without a new object: denied",
			write: write("me", admission.Update, "csinodes", "status", nil, old), by: "NR-CSINODE-2",
			says: about + `unexpected type <nil> [NR-CSINODE-2]`},
		{name: "remove a driver through the status: denied",
			write: write("me", admission.Update, "csinodes", "status", &storagev1.CSINode{ObjectMeta: old.ObjectMeta}, old),
			by:    "NR-CSINODE-2", says: spec},
		{name: "empty driver list equals no list: allowed", write: write("me", admission.Update, "csinodes", "status",
			aCSINode("me", func(d *storagev1.CSINodeDriver) { d.TopologyKeys = []string{} }),
			aCSINode("me", func(d *storagev1.CSINodeDriver) { d.TopologyKeys = nil }))},
	}
	for field, edit := range map[string]func(*storagev1.CSINodeDriver){
		"name":        func(d *storagev1.CSINodeDriver) { d.Name = "x" },
		"node ID":     func(d *storagev1.CSINodeDriver) { d.NodeID = "x" },
		"topology":    func(d *storagev1.CSINodeDriver) { d.TopologyKeys = []string{"x"} },
		"allocatable": func(d *storagev1.CSINodeDriver) { d.Allocatable = nil },
		"count":       func(d *storagev1.CSINodeDriver) { d.Allocatable.Count = ptr.To[int32](9) },
		"no count":    func(d *storagev1.CSINodeDriver) { d.Allocatable.Count = nil },
	} {
		rows = append(rows, row{name: "nor changes a driver's " + field,
			write: write("me", admission.Update, "csinodes", "status", aCSINode("me", edit), old), by: "NR-CSINODE-2",
			says: spec})
	}
	run(t, restrict(aCluster(), func(c *Config) { c.Features.CSIVolumeHealth = true }), rows)
}
