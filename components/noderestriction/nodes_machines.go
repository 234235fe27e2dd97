// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeaddress"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	machineTaints = rules.Rule{
		ID: "NR-MACHINE-1",
		Description: "A node registers only with every taint in its row of the machine table, or with the taint " +
			"bulkhead.dev/uninitialized, which machine-table-controller replaces by these.",
		Source: "kubernetes/design-proposals-archive node/limit-node-object-self-control.md (Limiting Node Scope on " +
			"the Node object), Taints set by central controllers",
		Extension: true, Configured: true,
	}
	machineLabels = rules.Rule{
		ID: "NR-MACHINE-2",
		Description: "A node does not remove a label in its row of the machine table, and sets it only to the " +
			"row's value.",
		Source: "kubernetes/design-proposals-archive node/limit-node-object-self-control.md (Limiting Node Scope on the " +
			"Node object), Taints set by central controllers",
		Extension: true, Configured: true,
	}
	machineAddresses = rules.Rule{
		ID: "NR-MACHINE-3",
		Description: "If its row in the machine table has addresses, a node adds to the status of its Node only " +
			"IPs among them, and no name but its own.",
		Source: "Bulkhead: who registers first under a name says where it is, and could take its neighbour's address; " +
			"docs/configuration.md",
		Extension: true, Configured: true,
	}
)

// reviewMachine requires the taints of the row, even if a Node of that name exists. After the
// denial, a kubelet reads the existing Node and continues.
func reviewMachine(q *request, node *corev1.Node) *rules.Decision {
	row := q.machine()
	if row == nil {
		return nil
	}
	missing := missingTaints(row, node)
	if len(missing) == 0 {
		return nil
	}
	return q.forbid(machineTaints,
		fmt.Sprintf("node %q must be registered with the taints that the machine table has for %q: %s", q.node, row.Name,
			someTaints(missing)))
}

// missingTaints returns nothing for a Node that waits for machine-table-controller.
func missingTaints(row *configuration.Machine, node *corev1.Node) []corev1.Taint {
	if slices.ContainsFunc(node.Spec.Taints, configuration.IsStartupTaint) {
		return nil
	}
	return without(row.Taints, node.Spec.Taints)
}

// reviewMachineLabels denies other values than those of the table. A new Node may lack the labels
// of its row. Where nodes cannot set them, a central component does.
func reviewMachineLabels(q *request, changed []string, now map[string]string) *rules.Decision {
	row := q.machine()
	if row == nil {
		return nil
	}
	wrong := notInTable(row, changed, now)
	if len(wrong) == 0 {
		return nil
	}
	return q.forbid(machineLabels,
		fmt.Sprintf("node %q is not allowed to set other labels than the machine table has for %q: %s", q.node, row.Name,
			some(wrong)))
}

// notInTable returns the changed keys whose value differs from that of the row.
func notInTable(row *configuration.Machine, changed []string, now map[string]string) []string {
	var wrong []string
	for _, key := range changed {
		if _, listed := row.Labels[key]; listed && !inTable(row.Labels, now, key) {
			wrong = append(wrong, key)
		}
	}
	return wrong
}

// checkMachineAddresses compares the addresses that a node adds with the node's row. It does not
// resolve host names, because their addresses can change at any time. So the only name is the node's
// own. A name as InternalIP or ExternalIP is never right: kube-apiserver would resolve and dial it.
func checkMachineAddresses(q *request, old, node *corev1.Node) *rules.Decision {
	row := q.machine()
	if row == nil || row.Addresses == nil {
		return nil
	}
	var before []corev1.NodeAddress
	if old != nil {
		before = old.Status.Addresses
	}
	for _, address := range newAddresses(before, node.Status.Addresses) {
		if !mayReport(q.node, row, address) {
			return q.forbid(machineAddresses,
				fmt.Sprintf("node %q is not allowed to report the address %.63q: the machine table has others for %q",
					q.node, address.Address, row.Name))
		}
	}
	return nil
}

func mayReport(node string, row *configuration.Machine, address corev1.NodeAddress) bool {
	if ip, isIP := nodeaddress.ParseIP(address.Address); isIP {
		return row.HasAddress(ip)
	}
	if address.Type == corev1.NodeInternalIP || address.Type == corev1.NodeExternalIP {
		return false
	}
	return nodeaddress.Canonical(address.Address) == node
}
