// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// machine-table-controller gives Nodes the labels and taints of the machine table.
package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
)

func main() { os.Exit(program.Main(newCommand(start))) }

const description = `Sets the labels and taints of Nodes from the machine table.

It watches Nodes. If a Node lacks a label or a taint of its row, or has another value,
the program sets it. In the same write, it removes the taint bulkhead.dev/uninitialized,
with which a node can register instead of the taints of its row. It does not change
labels and taints that the table does not name.

The table is the field machines in the configuration of node-restriction. Give both
programs the same file. The program reloads the file when it changes. While the file is
invalid, the last valid one stays in use.

Example, with the defaults of the other flags:
  machine-table-controller --configuration=/etc/bulkhead/machine-table/configuration.yaml`

// newCommand returns a command that calls run with a valid configuration.
func newCommand(run func(context.Context, *config) error) *cobra.Command {
	o := defaultOptions()
	return program.NewCommand("machine-table-controller", description, o.flags(), o.config, run)
}
