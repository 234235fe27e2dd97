// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command testrun runs the project's checks and tests, says where the time went,
// and ends with a true count. The Makefile's targets call it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() { os.Exit(execute()) }

func execute() int {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	// A terminal that is closed has to end what is in groups of its own. nohup is for those
	// who do not want that.
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	// A second one ends this program at once.
	context.AfterFunc(ctx, stop)
	// Nobody reads any more, as when grep is interrupted together with this: there is still
	// something to be removed. Notify, as children would inherit Ignore.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	return 0
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:           "testrun",
		Short:         "Run the project's checks and tests",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(
		stageCommand("verify", "Formatting, vet, linters, shellcheck, generated docs, licence headers, manifests", verify),
		stageCommand("unit", "Unit tests with the race detector, and a bounded run of every fuzz target", unit),
		stageCommand("all", "verify, unit, and end-to-end in all three profiles", everything),
		e2eCommand(),
	)
	return root
}

func stageCommand(use, short string, stages ...stage) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runStages(cmd.Context(), stages...) },
	}
}
