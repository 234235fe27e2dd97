// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// StartupTaint is the key of the taint with which a node may register in place of the taints of its row.
// No pod without a toleration is scheduled to such a Node. machine-table-controller replaces the taint by
// those of the row, and no node can remove it.
const StartupTaint = "bulkhead.dev/uninitialized"

// IsStartupTaint reports whether the taint keeps pods from the Node until the controller has replaced it.
func IsStartupTaint(taint corev1.Taint) bool {
	return taint.Key == StartupTaint &&
		(taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute)
}

// MachineFor returns the row of the machine table for a node, or nil. A row with the exact node
// name takes precedence over prefixes. A longer prefix takes precedence over a shorter one. Rows
// are not combined.
func (c *Configuration) MachineFor(node string) *Machine {
	if c == nil {
		return nil
	}
	var best *Machine
	for i := range c.Machines {
		row := &c.Machines[i]
		beginning, open := strings.CutSuffix(row.Name, "*")
		switch {
		case !open && row.Name == node:
			return row
		case open && strings.HasPrefix(node, beginning) && (best == nil || len(row.Name) > len(best.Name)):
			best = row
		}
	}
	return best
}

// LabelsFor returns the labels that the machine table has for a node. The caller may change the
// map.
func (c *Configuration) LabelsFor(node string) map[string]string {
	if row := c.MachineFor(node); row != nil {
		return maps.Clone(row.Labels)
	}
	return nil
}
