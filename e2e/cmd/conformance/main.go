// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command bulkhead-conformance runs the end-to-end suites against any cluster and reports which
// rules the cluster enforces. The suites are in the program itself: see scripts/bundle.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Exit codes other than 0.
const (
	exitError   = 1
	exitNotHeld = 2
)

// errNotHeld is returned after a whole run that found a rule that does not hold, or an attack that succeeded.
var errNotHeld = errors.New("a rule is not enforced, or an attack succeeded: see the report")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newCommand().ExecuteContext(ctx)
	stop()
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "bulkhead-conformance: "+err.Error())
	if errors.Is(err, errNotHeld) {
		os.Exit(exitNotHeld)
	}
	os.Exit(exitError)
}
