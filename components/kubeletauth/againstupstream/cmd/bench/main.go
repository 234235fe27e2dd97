// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command bench measures kubelet-auth-proxy against a bare reverse proxy and against no
// proxy, and writes its part of docs/performance.md. With -quick it prints the tables
// only, in two minutes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() { os.Exit(execute()) }

func execute() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := options{start: time.Now()}
	flag.StringVar(&o.root, "root", "../../..", "the checkout")
	flag.BoolVar(&o.quick, "quick", false, "shorter; prints the tables and writes nothing")
	flag.StringVar(&o.only, "only", "", "the measurements to make, of requests, streams, reviews and kubelet, separated by commas; prints the part and writes nothing")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return 0
}

const usage = `Measures kubelet-auth-proxy, a bare reverse proxy and no proxy, in turns, in front
of a program that stands in for a kubelet, and writes a part of docs/performance.md.

A real kubelet is measured too where E2E_KUBECONFIG, or else KUBECONFIG, names a
cluster in which kubelet-auth-proxy is installed. E2E_NODE_EXEC says how to run a
command as root on the host of {node} (docker exec -i {node}), E2E_CONTROL_PLANE which
node to take (the first with that label). A program is put into /usr/local/bin there,
and gone after it.

`
