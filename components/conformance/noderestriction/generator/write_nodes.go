// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
)

// ofNode returns usually the name of the node that writes.
func (m *Generator) ofNode(w *Write) string {
	if m.OneIn(6) {
		return m.nodeName()
	}
	return w.node()
}

func (m *Generator) createNode(w *Write) {
	w.at("", "v1", "nodes", "")
	node := m.node(m.ofNode(w))
	for range m.IntN(3) {
		m.spoilNode(node)
	}
	w.Operation, w.Object = admission.Create, node
	w.to("", node.Name)
	if m.OneIn(12) {
		w.Name, node.Name, node.GenerateName = "", "", w.node()
	}
}

func (m *Generator) updateNode(w *Write) {
	w.at("", "v1", "nodes", harness.Pick(m.RNG, []string{"", "status", "status", "x"}))
	old := m.node(m.ofNode(w))
	node := old.DeepCopy()
	for range m.IntN(3) {
		m.spoilNode(node)
	}
	w.Operation, w.Object, w.Old = admission.Update, node, old
	w.to("", node.Name)
}

// otherNode creates deletions, including deletions of many Nodes, and writes that nodes do not
// make.
func (m *Generator) otherNode(w *Write) {
	w.at("", "v1", "nodes", harness.Pick(m.RNG, []string{"", "", "status", "proxy"}))
	node := m.node(m.ofNode(w))
	w.Operation, w.Old = harness.Pick(
		m.RNG,
		[]admission.Operation{admission.Delete, admission.Delete, admission.Create, admission.Update},
	), node
	if w.Operation != admission.Delete {
		w.Object = node
	}
	w.to("", harness.Pick(m.RNG, []string{node.Name, node.Name, node.Name, ""}))
}

func (m *Generator) csiNode(name string) *storagev1.CSINode {
	csiNode := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for range m.IntN(3) {
		driver := storagev1.CSINodeDriver{Name: harness.Pick(m.RNG, driverNames), NodeID: name}
		if m.OneIn(2) {
			count := int32(m.IntN(2)) //nolint:gosec // it is 0 or 1
			driver.Allocatable = &storagev1.VolumeNodeResources{Count: &count}
		}
		csiNode.Spec.Drivers = append(csiNode.Spec.Drivers, driver)
	}
	return csiNode
}

func (m *Generator) writeCSINode(w *Write) {
	w.at(storagev1.GroupName, "v1", "csinodes", "")
	csiNode := m.csiNode(m.ofNode(w))
	w.to("", csiNode.Name)
	w.Operation = harness.Pick(m.RNG, []admission.Operation{admission.Create, admission.Update, admission.Delete})
	if w.Operation != admission.Delete {
		w.Object = csiNode
	}
	if w.Operation != admission.Create {
		w.Old = csiNode
	} else if m.OneIn(4) {
		w.Name, csiNode.Name, csiNode.GenerateName = "", "", w.node()
	}
}

func (m *Generator) updateCSINodeStatus(w *Write) {
	w.at(storagev1.GroupName, "v1", "csinodes", "status")
	old := m.csiNode(m.ofNode(w))
	csiNode := old.DeepCopy()
	if m.OneIn(2) {
		m.MutateValue(&csiNode.Spec)
	}
	m.MutateValue(&csiNode.Status)
	w.Operation, w.Object, w.Old = admission.Update, csiNode, old
	w.to("", csiNode.Name)
	if m.OneIn(8) {
		w.Operation = harness.Pick(m.RNG, []admission.Operation{admission.Create, admission.Delete})
	}
}
