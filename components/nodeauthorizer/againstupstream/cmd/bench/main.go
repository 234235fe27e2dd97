// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command bench measures the node authorizer against the in-tree one and writes
// docs/performance.md. With -quick it prints the table only, in two minutes.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/process"
)

func main() { os.Exit(execute()) }

func execute() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := options{size: process.Large}
	flag.StringVar(&o.root, "root", "../../..", "the checkout")
	flag.BoolVar(&o.quick, "quick", false, "shorter, without the whole process; prints the table and writes nothing")
	flag.StringVar(&o.only, "only", "", "the measurements to make, by name, separated by commas; prints the page and writes nothing")
	flag.BoolVar(&o.cpuTime, "cpu-time", false, "time on the cores, not time that goes by: for a look on a busy machine")
	flag.IntVar(&o.size.Pods, "pods", o.size.Pods, "pods of the cluster that the whole process watches")
	flag.IntVar(&o.size.Nodes, "nodes", o.size.Nodes, "nodes of that cluster")
	flag.Parse()
	// What the servers of a measurement log is not what is asked for.
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return 0
}
