// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command testrun runs the project's checks and tests. At the end it prints the count of all
// results. The Makefile's targets call it. The programs gotestsum and ginkgo run the tests. testrun
// starts them in the right order, reads their JUnit reports and adds the results.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	// Programs run in their own process groups, so testrun must also end them when the terminal
	// closes. Under nohup, SIGHUP stays ignored.
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	// A second signal ends this program at once.
	context.AfterFunc(ctx, stop)
	// A closed pipe must not prevent the cleanup. Use Notify and not Ignore, because programs
	// inherit an ignored signal.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use: "testrun", Short: "Run the project's checks and tests", SilenceUsage: true, SilenceErrors: true,
	}
	add := func(use, short string, do func(ctx context.Context, j *job) error) *cobra.Command {
		cmd := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs}
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), os.Stdout, do) }
		root.AddCommand(cmd)
		return cmd
	}
	add("verify", "Formatting, vet, linters, shellcheck, generated docs, licence headers, manifests, govulncheck", verify)
	add("unit", "Unit tests with the race detector, and a bounded run of every fuzz target", unit)
	add("all", "verify, unit, and end-to-end in all three profiles", everything)
	add("ha", "All specs for several control planes, on a new cluster", highAvailability)

	var profile, label string
	e2e := add("e2e", "The end-to-end suites, on the cluster that is up, on E2E_KUBECONFIG, or on a new cluster",
		func(ctx context.Context, j *job) error { return endToEnd(ctx, j, profile, label) })
	e2e.Flags().StringVar(&profile, "profile", "hardened", "the profile of the new cluster if none is up")
	e2e.Flags().StringVar(&label, "label", "", "a Ginkgo label filter, for example 'rule: containsAny NA-LEASE-3'")
	return root
}
