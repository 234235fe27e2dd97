// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
)

// polite is a command that computes after all that has less to do and more to wait for:
// specs measure how long they wait. It is for [startPolitely].
func polite(ctx context.Context, args ...string) *exec.Cmd {
	cmd := interruptible(exec.CommandContext(ctx, "nice", slices.Concat([]string{"-n19"}, args)...))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// startPolitely starts a polite command. Where Linux shares processors out by sessions, only
// those have a say.
func startPolitely(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", cmd.Process.Pid), []byte("19"), 0)
	return nil
}
