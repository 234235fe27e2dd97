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

// command is a program to run in the checkout. It has its own process group. So an interrupt
// reaches it and its children once, when ctx ends: Ginkgo does not pass a signal on, and a
// second one would end the cleanup early.
func (j *job) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = j.root
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	return cmd
}

// nice is a command with the lowest priority: specs measure how long they wait. Where Linux
// shares the processors between sessions, only the priority of the session matters.
func (j *job) nice(ctx context.Context, args ...string) *exec.Cmd {
	const script = `{ echo 19 >/proc/self/autogroup; } 2>/dev/null; exec nice -n19 "$@"`
	cmd := j.command(ctx, append([]string{"sh", "-c", script, "sh"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// withNodes is a command with the environment of `make env`, where docker reaches the nodes.
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
	// mu guards out, which several writers share, and rest, the unfinished line.
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
