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

const description = `Gives Nodes the labels and taints that the machine table has for them.

It watches Nodes. A Node that lacks a label or a taint of its row, or has it with
another value, gets it. The taint bulkhead.dev/uninitialized, with which a node can
register in place of the taints of its row, is removed in the same write. What the
table does not name stays as it is.

Write the table into the field machines of the configuration of node-restriction, and
give both programs the same file. The file is read again when it changes. While it is
invalid, the last valid one is in force.

Example, with the defaults of the other flags:
  machine-table-controller --configuration=/etc/bulkhead/machine-table/configuration.yaml`

// newCommand returns a command that calls run with a valid configuration.
func newCommand(run func(context.Context, *config) error) *cobra.Command {
	o := defaultOptions()
	return program.NewCommand("machine-table-controller", description, o.flags(), o.config, run)
}
