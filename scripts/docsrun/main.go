// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command docsrun runs the command blocks of a Markdown page on a kind cluster, and compares their
// output with the page.
//
// Each block of the language bash, sh, shell or console needs a mark: an HTML comment directly above
// it that says where the block runs.
//
//	<!-- run: control-plane -->             on every control-plane host, as root
//	<!-- run: each-node; timeout: 5m -->    on every node, as root
//	<!-- run: each-node; retry: 1m -->      the same, again and again until it succeeds
//	<!-- run: admin; exit: 1 -->            on this machine, with KUBECONFIG; the exit code is 1
//	<!-- run: admin; instead: … -->         on this machine this script, not what the block shows
//	<!-- run: none; reason: … -->           not run, for this reason
//
// In a console block, a line that begins with "$ " or "# " is a command, and the lines below it are
// its output. The output of a bash block is in a text block directly below it. In an output, "…" is
// any text, or on a line of its own any lines. Times, durations and hashes may differ. A variable in
// upper case keeps its value for the later blocks on the same machine.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func main() {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	// Under nohup, SIGHUP stays ignored.
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	// A second signal ends this program at once.
	context.AfterFunc(ctx, stop)
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var list, check, run bool
	var cluster string
	cmd := &cobra.Command{
		Use:           "docsrun --list|--check|--run PAGE",
		Short:         "Run the command blocks of a Markdown page",
		Args:          cobra.ExactArgs(1),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			blocks, err := parseFile(args[0])
			if err != nil {
				return err
			}
			switch {
			case list:
				return printBlocks(cmd.OutOrStdout(), blocks)
			case run:
				return runPage(cmd.Context(), cmd.OutOrStdout(), args[0], cluster, blocks)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "Print each block: its line, where it runs, and its first command or the "+
		"reason why it does not run.")
	cmd.Flags().BoolVar(&check, "check", false, "Check only that each command block has a valid mark.")
	cmd.Flags().BoolVar(&run, "run", false, "Run the blocks on the kind cluster, in the order of the page.")
	cmd.Flags().StringVar(&cluster, "cluster", "bulkhead-docs", "The name of the kind cluster.")
	cmd.MarkFlagsMutuallyExclusive("list", "check", "run")
	cmd.MarkFlagsOneRequired("list", "check", "run")
	return cmd
}

func parseFile(page string) ([]Block, error) {
	content, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	blocks, err := Parse(string(content))
	if err != nil {
		return nil, fmt.Errorf("the marks of %s are not valid:\n%w", page, err)
	}
	return blocks, nil
}

func printBlocks(out io.Writer, blocks []Block) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "LINE\tWHERE\tCOMMAND OR REASON")
	for _, b := range blocks {
		what := b.title()
		if b.Mark.Place == None {
			what = "not run: " + b.Mark.Reason
		}
		fmt.Fprintf(table, "%d\t%s\t%s\n", b.Line, b.Mark.Place, what)
	}
	return table.Flush()
}

func runPage(ctx context.Context, out io.Writer, page, cluster string, blocks []Block) error {
	if os.Getenv("KUBECONFIG") == "" {
		return errors.New("KUBECONFIG is not set: set it to the administrator's kubeconfig of the cluster")
	}
	controlPlane, nodes, err := kindShells(ctx, cluster)
	if err != nil {
		return err
	}
	r := &runner{out: out, page: page, shells: map[Place][]shell{
		ControlPlane: controlPlane, EachNode: nodes, Admin: {local()},
	}}
	return r.run(ctx, blocks)
}
