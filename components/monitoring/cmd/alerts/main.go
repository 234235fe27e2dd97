// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command alerts tests the alerts of manifests/monitoring on the reference cluster. It runs
// Prometheus in the cluster, breaks what each alert is about, and waits until the alert fires. Then
// it repairs the cluster and waits until the alert resolves. It writes a page with the times, and
// draws the dashboard from what Prometheus has stored.
//
//	make up && make alerts
//
// Exit code 1: an alert fired before its break, did not fire, or did not resolve. The cluster is
// repaired also after a failure and after Ctrl-C. If the process was killed, the next run repairs
// the cluster first.
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
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/bulkhead-k8s/bulkhead/kind/progress"
	"github.com/bulkhead-k8s/bulkhead/scripts/toolflag"
)

const help = `Alerts causes each alert of manifests/monitoring on the reference cluster, with a real Prometheus. It
waits until the alert fires, repairs the cluster, and waits until the alert resolves. A whole run takes 20 minutes.
The cluster is repaired also after a failure and after Ctrl-C.

Before it: make up && eval "$(make env)"

Examples:
  make alerts
  go -C components/monitoring run ./cmd/alerts -only=BulkheadViewStale
  go -C components/monitoring run ./cmd/alerts -repair
  go -C components/monitoring run ./cmd/alerts -rewrite -write=../../docs/alerts.md

Exit code: 0 if each alert fired and resolved; 1 if an alert fired before its break, did not fire or did not resolve,
and for an error or Ctrl-C.

Flags:
`

// options are the flags of the command.
type options struct {
	root, kubeconfig, page, figure, only string
	repairOnly, rewrite                  bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if len(os.Args) > 1 && os.Args[1] == podStatusCommand {
		err = servePodStatus(ctx)
	} else {
		err = run(ctx, os.Stdout, os.Args[1:])
	}
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func parse(out io.Writer, args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("alerts", flag.ContinueOnError)
	flags.StringVar(&o.root, "root", "../..", "the checkout")
	flags.StringVar(&o.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "an administrator of the reference cluster")
	flags.StringVar(&o.page, "write", "", "the page to write the table to; empty for none")
	flags.StringVar(&o.figure, "draw", "", "the SVG to draw the dashboard to; empty for none")
	flags.StringVar(&o.only, "only", "",
		"run only the breaks of these alerts, separated by commas; -write then replaces only their rows, if all passed")
	flags.BoolVar(&o.repairOnly, "repair", false, "only repair what a killed run has left")
	flags.BoolVar(&o.rewrite, "rewrite", false,
		"only write the page of -write again, from the results of the last run; needs no cluster")
	if err := toolflag.Parse(out, help, flags, args); err != nil {
		return o, err
	}
	if o.rewrite && o.page == "" {
		return o, errors.New("cannot write the page again: -write is empty; name the page, for example docs/alerts.md")
	}
	if o.kubeconfig == "" && !o.rewrite {
		return o, errors.New(`cannot find the cluster: KUBECONFIG is empty; run make up && eval "$(make env)"`)
	}
	return o, nil
}

func run(ctx context.Context, out io.Writer, args []string) (err error) {
	o, err := parse(out, args)
	if err != nil {
		return err
	}
	if o.rewrite {
		return rewrite(&o)
	}
	output := filepath.Join(o.root, "_output", "alerts")
	report, err := progress.New(os.Stderr, filepath.Join(output, "logs"))
	if err != nil {
		return err
	}
	c, err := openCluster(ctx, o.kubeconfig)
	if err != nil {
		return err
	}
	c.root, c.output = o.root, output
	plan := allPhases(c)
	if err := errors.Join(plan.repair(ctx, os.Stderr), removePrometheus(ctx, c)); err != nil || o.repairOnly {
		return err
	}
	groups, err := readRules(o.root)
	if err != nil {
		return err
	}
	if err := plan.check(groups); err != nil {
		return err
	}
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), repairLimit)
		defer cancel()
		err = errors.Join(err, removePrometheus(clean, c))
	}()
	p, err := deploy(ctx, report, c, groups)
	if err != nil {
		return err
	}
	return plan.execute(ctx, p, &o)
}

// execute runs the breaks, prints the results, and writes the page and the figure.
func (p phases) execute(ctx context.Context, prometheus *prometheus, o *options) error {
	r := newRunner(prometheus, os.Stderr)
	chosen := p.only(o.only)
	r.run(ctx, chosen)
	if ctx.Err() != nil && r.broken == nil {
		return errors.New("interrupted; the cluster is repaired")
	}
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted: %w", r.broken)
	}
	result := r.result(prometheus)
	fmt.Print(result.text())
	err := result.failure()
	if o.figure != "" {
		err = errors.Join(err, drawDashboard(ctx, prometheus, result, o.root, o.figure))
	}
	if o.page != "" && (err == nil || o.only == "") {
		err = errors.Join(err, p.writePage(result.record(), o))
	}
	return err
}

// writePage writes the results and the page. After a run of some alerts, it replaces only their rows.
func (p phases) writePage(results *recorded, o *options) error {
	if o.only != "" {
		last, err := readRecorded(o.root)
		if err == nil {
			err = last.replace(results)
		}
		if err != nil {
			return err
		}
		results = last
	}
	return results.write(o.root, o.page, p)
}

// rewrite writes the page of the last run again, for example after a change of the plan's texts.
func rewrite(o *options) error {
	last, err := readRecorded(o.root)
	if err != nil {
		return err
	}
	return last.write(o.root, o.page, allPhases(namedCluster()))
}

// namedCluster returns the reference cluster for the texts of the plan. It cannot be used for a run.
func namedCluster() *cluster {
	return &cluster{controlPlane: "bulkhead-control-plane", worker: "bulkhead-worker"}
}

// only returns the breaks of the named alerts, or all of them without a name.
func (p phases) only(names string) phases {
	if names == "" {
		return p
	}
	var chosen phases
	for _, tracks := range p {
		var kept []track
		for _, breaks := range tracks {
			if some := breaks.causing(strings.Split(names, ",")); len(some) > 0 {
				kept = append(kept, some)
			}
		}
		if len(kept) > 0 {
			chosen = append(chosen, kept)
		}
	}
	return chosen
}

// causing returns the breaks that cause one of the named alerts.
func (t track) causing(names []string) (some track) {
	for _, b := range t {
		if slices.ContainsFunc(names, b.causesAlert) {
			some = append(some, b)
		}
	}
	return some
}

// sleep waits, or until the context ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
