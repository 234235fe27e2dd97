// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command refcluster creates, shows and removes the reference cluster. The Makefile's targets call
// it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	return 0
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:   "refcluster",
		Short: "The reference cluster: two kind nodes with Bulkhead installed as in production",
		Long: `Refcluster creates, shows and removes the reference cluster: two kind nodes with
Bulkhead installed as in production. The targets of the Makefile call it.

Exit code: 0 if the command did what it says, 1 for an error or Ctrl-C.`,
		Example: `  refcluster up --profile=hardened
  eval "$(refcluster env)" && kubectl get nodes
  refcluster down`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(upCommand(), downCommand(), statusCommand(), envCommand(), imageCommand(), toolsCommand())
	return root
}
