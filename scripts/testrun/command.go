// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"sync"
	"syscall"
)

// command returns a command that runs in the checkout, in its own process group. So an interrupt
// reaches the program and its children once, when ctx ends. Ginkgo does not pass a signal on, and a
// second signal would end the cleanup early.
func (j *job) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = j.root
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	return cmd
}

// background returns a command that has the lowest priority if other jobs run, because specs measure
// waiting times. If Linux shares the processors between sessions, only the priority of the session
// matters.
func (j *job) background(ctx context.Context, args ...string) *exec.Cmd {
	if j.name == "" {
		return j.command(ctx, args...)
	}
	const script = `{ echo 19 >/proc/self/autogroup; } 2>/dev/null; exec nice -n19 "$@"`
	cmd := j.command(ctx, append([]string{"sh", "-c", script, "sh"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// withNodes returns a command with the environment of `make env`, in which docker reaches the
// nodes.
func (j *job) withNodes(ctx context.Context, args ...string) *exec.Cmd {
	const script = `set -o errexit; environment=$("$0" env); eval "$environment"; exec "$@"`
	return j.command(ctx, append([]string{"bash", "-c", script, j.path("bin", "refcluster")}, args...)...)
}

// run runs a command. The job prints the output, and the error contains it.
func (j *job) run(cmd *exec.Cmd) error {
	var printed bytes.Buffer
	cmd.Stdout = io.MultiWriter(j.out, &printed)
	cmd.Stderr = cmd.Stdout
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the program failed: %w\n%s", err, printed.String())
	}
	return nil
}

// prefixWriter writes whole lines with a prefix that identifies the job.
type prefixWriter struct {
	// mu guards out and rest. Several writers share out. rest is the unfinished line.
	mu     *sync.Mutex
	out    io.Writer
	prefix string
	rest   []byte
}

// Write never fails: a program must not stop because its output has no reader.
func (w *prefixWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := slices.Concat(w.rest, p)
	end := bytes.LastIndexByte(text, '\n') + 1
	for line := range bytes.Lines(text[:end]) {
		fmt.Fprintf(w.out, "%s%s", w.prefix, line)
	}
	w.rest = text[end:]
	return len(p), nil
}
