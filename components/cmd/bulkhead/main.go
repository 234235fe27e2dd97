// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command bulkhead installs Bulkhead on a control-plane host and manages it.
package main

import (
	"context"
	"errors"
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
		if !errors.Is(err, errReported) {
			fmt.Fprintln(os.Stderr, "bulkhead: "+err.Error())
		}
		os.Exit(exitCode(err))
	}
}

// untilStopped returns a context that ends with every signal that ends a terminal session. So an
// interrupted installation is rolled back. The terminal may be gone by then, so SIGPIPE must not
// end the process.
func untilStopped(ctx context.Context) (context.Context, context.CancelFunc) {
	signal.Ignore(syscall.SIGPIPE)
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores SIGHUP, and the process keeps that
		ends = append(ends, syscall.SIGHUP)
	}
	return signal.NotifyContext(ctx, ends...)
}
