// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"maps"
	"strings"
)

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
