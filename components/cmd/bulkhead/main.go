// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command bulkhead installs Bulkhead on a control-plane host and looks after it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newRootCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bulkhead: "+err.Error())
		os.Exit(1)
	}
}
