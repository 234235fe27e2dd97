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
	ctx, stop := untilStopped(context.Background())
	err := newRootCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bulkhead: "+err.Error())
		os.Exit(1)
	}
}

// untilStopped ends with whatever ends a terminal session, so that an
// installation is taken back and not cut off. What is printed meanwhile may find
// nobody to read it: that must not end the process either.
func untilStopped(ctx context.Context) (context.Context, context.CancelFunc) {
	signal.Ignore(syscall.SIGPIPE)
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup means it
		ends = append(ends, syscall.SIGHUP)
	}
	return signal.NotifyContext(ctx, ends...)
}
