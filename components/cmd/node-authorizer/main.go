// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// The node-authorizer decides what every kubelet may read and write, as an
// authorization webhook on loopback beside one kube-apiserver.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
)

func main() { os.Exit(execute()) }

func execute() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	logs.InitLogs()
	defer logs.FlushLogs()
	if err := newCommand(start).ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "node-authorizer: %v\n", err)
		return 1
	}
	return 0
}
