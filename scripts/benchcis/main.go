// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command benchcis runs kube-bench on the nodes of the reference cluster, prints the results, and
// writes docs/benchmark-cis.md. kube-bench and its checks come from its Go module.
//
//	go run ./scripts/benchcis                                 # the cluster of make up
//	go run ./scripts/benchcis -name=bulkhead-x -write=        # another cluster, and no page
//	go run ./scripts/benchcis -override                       # count with the three other checks
//
// Exit code 1: a check fails without an accepted reason, a warning has no reason, a reason has no
// warning, or kube-bench cannot run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/bulkhead-k8s/bulkhead/kind/host"
	"github.com/bulkhead-k8s/bulkhead/kind/progress"
	"github.com/bulkhead-k8s/bulkhead/kind/refcluster"
	"github.com/bulkhead-k8s/bulkhead/scripts/toolflag"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout, os.Args[1:])
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

const help = `Benchcis runs the CIS benchmark on the nodes of a cluster that make up made. It prints the results, and
writes docs/benchmark-cis.md.

Examples:
  make bench-cis
  go run ./scripts/benchcis -name=bulkhead-x -write=    # another cluster, and no page
  go run ./scripts/benchcis -override                   # count with the three other checks

Exit code: 0 if every failed check and every warning has its reason in scripts/benchcis/reasons.yaml; 1 if a check
fails without an accepted reason, a warning has no reason, a reason has no warning, or kube-bench cannot run.

Flags:
`

// options are the flags of the command.
type options struct {
	name, write string
	override    bool
}

func parse(out io.Writer, args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("benchcis", flag.ContinueOnError)
	flags.StringVar(&o.name, "name", refcluster.DefaultName, "the name of the cluster")
	flags.StringVar(&o.write, "write", "docs/benchmark-cis.md", "the page to write; empty for none")
	flags.BoolVar(&o.override, "override", false,
		"count 1.2.6 to 1.2.8 as they are when they read the authorization file in force, not the flag")
	if err := toolflag.Parse(out, help, flags, args); err != nil {
		return o, err
	}
	return o, refcluster.CheckName(o.name)
}

func run(ctx context.Context, out io.Writer, args []string) error {
	o, err := parse(out, args)
	if err != nil {
		return err
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	texts, err := readReasons(filepath.Join(root, "scripts", "benchcis"))
	if err != nil {
		return err
	}
	b, err := newBench(ctx, root, o.name, texts.Override)
	if err != nil {
		return err
	}
	result, err := b.run(ctx)
	if err != nil {
		return err
	}
	result.overridden = o.override
	printResult(out, result)
	problems := result.problems(texts)
	if o.write == "" || problems != nil {
		return problems
	}
	return os.WriteFile(filepath.Join(root, o.write), page(result, texts, time.Now()), 0o644)
}

// newBench builds kube-bench and finds the nodes of the cluster.
func newBench(ctx context.Context, root, name string, override map[string]string) (*bench, error) {
	output := filepath.Join(root, "_output")
	report, err := progress.New(os.Stderr, filepath.Join(output, "logs", "benchcis"))
	if err != nil {
		return nil, err
	}
	engine, running := host.Running(ctx, io.Discard)
	if !running {
		return nil, errors.New("cannot run the benchmark: no cluster runs; create one with `make up`")
	}
	cluster, err := refcluster.New(engine, name, root, output, report)
	if err != nil {
		return nil, err
	}
	if exists, err := cluster.Exists(); err != nil || !exists {
		return nil, errors.Join(err, fmt.Errorf("cannot run the benchmark: there is no cluster %s; create one with `make up`",
			name))
	}
	return &bench{
		engine: engine, progress: report, root: root, output: output, override: override,
		controlPlane: cluster.ControlPlane(), worker: cluster.Worker(),
	}, nil
}
