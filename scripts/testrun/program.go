// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// interruptible has an interruption passed on to a program and to what it has started:
// Ginkgo does not do that itself. They are in a group of their own, so that Ctrl-C reaches
// them once: a second one would cut their cleaning up short.
func interruptible(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	return cmd
}

// refclusterProgram is the cluster's command, built once: lanes use it at the same time,
// and `go run` would not pass an interruption on.
func (r *run) refclusterProgram(ctx context.Context) (string, error) {
	program := filepath.Join(r.output, "bin", "refcluster")
	r.building.Do(func() { r.built = r.command(ctx, "go", "build", "-o", program, "./kind/cmd/refcluster") })
	return program, r.built
}

func (r *run) runRefcluster(ctx context.Context, out io.Writer, args ...string) error {
	program, err := r.refclusterProgram(ctx)
	if err != nil {
		return err
	}
	cmd := interruptible(exec.CommandContext(ctx, program, args...))
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.root, out, out
	return cmd.Run()
}

// nodeEnv is what `make env` prints, so that the suite reaches the nodes' engine.
func (r *run) nodeEnv(ctx context.Context) ([]string, error) {
	program, err := r.refclusterProgram(ctx)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "bash", "-c", `eval "$("$0" env)" && env -0`, program)
	cmd.Dir, cmd.Stderr = r.root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("reading `make env`: %w", err)
	}
	return strings.Split(strings.TrimRight(string(out), "\x00"), "\x00"), nil
}

func envOr(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}
