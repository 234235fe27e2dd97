// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command bench times node-restriction against the in-tree plugin, each rule family
// at the same writes, and its webhook against one that only decodes. It writes its
// part of docs/performance.md; with -quick it prints the tables only, in a minute.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/klog/v2"
)

func main() { os.Exit(execute()) }

func execute() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := options{start: time.Now()}
	flag.StringVar(&o.root, "root", "../../..", "the checkout")
	flag.BoolVar(&o.quick, "quick", false, "shorter; prints the tables and writes nothing")
	flag.StringVar(&o.only, "only", "", "one measurement, writes or reviews; prints and writes nothing")
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
