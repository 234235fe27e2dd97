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
	"time"

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
		Long: "Testrun runs the project's checks and tests. The targets of the Makefile call it. The last line is the " +
			"count: N passed, N failed, N skipped.\n\nExit code: 0 if nothing failed, 1 otherwise, and for an error or Ctrl-C.",
		Example: "  testrun unit\n  testrun e2e --label='rule: containsAny NA-LEASE-3'\n  testrun all --limit=50m",
	}
	add := func(use, short string, do func(ctx context.Context, j *job) error) *cobra.Command {
		cmd := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs}
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), os.Stdout, do) }
		root.AddCommand(cmd)
		return cmd
	}
	add("verify", "Formatting, linters, shellcheck, generated docs, licence headers, manifests, govulncheck", verify)
	add("unit", "Unit tests with the race detector, and a bounded run of every fuzz target", unit)
	var inputs int
	fuzzing := add("fuzz", "Many inputs for every fuzz target, guided by coverage",
		func(ctx context.Context, j *job) error { return fuzz(ctx, j, inputs, true) })
	fuzzing.Flags().IntVar(&inputs, "inputs", 100_000, "inputs of each fuzz target")
	var limit time.Duration
	all := add("all", "verify without golangci-lint, unit without the race detector, and end-to-end in all three profiles",
		func(ctx context.Context, j *job) error { return everything(ctx, j, limit) })
	all.Flags().DurationVar(&limit, "limit", 0, "no part starts later than this; what is left out counts as skipped")

	var profile, label string
	ha := add("ha", "All specs for several control planes, on a new cluster",
		func(ctx context.Context, j *job) error { return highAvailability(ctx, j, label) })
	ha.Flags().StringVar(&label, "label", "", "a Ginkgo label filter; '!long' leaves out what takes an hour")

	failure := add("failure", "The long form of every disruption, on a cluster as for e2e; writes docs/reliability.md",
		func(ctx context.Context, j *job) error { return failures(ctx, j, label) })
	failure.Flags().StringVar(&label, "label", "", "a Ginkgo label filter, for example etcd-paused")

	var minutes int
	soaking := add("soak", "The soak test, on a cluster as for e2e; writes docs/soak.svg",
		func(ctx context.Context, j *job) error { return soak(ctx, j, minutes) })
	soaking.Flags().IntVar(&minutes, "minutes", 60, "duration")

	e2e := add("e2e", "The end-to-end suites, on the cluster that is up, on E2E_KUBECONFIG, or on a new cluster",
		func(ctx context.Context, j *job) error { return endToEnd(ctx, j, profile, label) })
	e2e.Flags().StringVar(&profile, "profile", "hardened", "the profile of the new cluster if none is up")
	e2e.Flags().StringVar(&label, "label", "", "a Ginkgo label filter, for example 'rule: containsAny NA-LEASE-3'")

	check := add("conformance", "bulkhead-conformance as a user runs it, on a cluster as for e2e; checks its report",
		func(ctx context.Context, j *job) error { return conformance(ctx, j, profile) })
	check.Flags().StringVar(&profile, "profile", "hardened", "the profile of the new cluster if none is up")

	var id string
	one := add("attack", "One attack of docs/attacks.md as a story, on the cluster that is up, on E2E_KUBECONFIG, "+
		"or on a new cluster", func(ctx context.Context, j *job) error { return attack(ctx, j, profile, id) })
	one.Flags().StringVar(&profile, "profile", "hardened", "the profile of the new cluster if none is up")
	one.Flags().StringVar(&id, "id", "", "the ID of the attack, for example T8")
	return root
}
