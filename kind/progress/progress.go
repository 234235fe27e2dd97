// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package progress runs the steps of a long job and shows its progress. It prints one line when a
// step begins, one at intervals, and one when it ends.
package progress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// interval is the time between two progress lines of a step.
const interval = 15 * time.Second

// Reporter prints the steps to one writer. It stores their output in a folder. It is not safe for
// concurrent use.
type Reporter struct {
	out   io.Writer
	logs  string
	start time.Time
}

// New returns a Reporter that prints to out. It creates the folder logs and stores the output of
// each step there, in one file per step.
func New(out io.Writer, logs string) (*Reporter, error) {
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return nil, fmt.Errorf("making the log folder: %w", err)
	}
	return &Reporter{out: out, logs: logs, start: time.Now()}, nil
}

// Elapsed returns the time since the Reporter was created, in whole seconds.
func (r *Reporter) Elapsed() time.Duration { return time.Since(r.start).Round(time.Second) }

// Logf prints one line.
func (r *Reporter) Logf(format string, args ...any) { fmt.Fprintf(r.out, format+"\n", args...) }

// Step runs do and reports its progress. A file stores what do writes to log. If do fails, the
// error contains the end of the log.
func (r *Reporter) Step(ctx context.Context, title string, do func(ctx context.Context, log io.Writer) error) error {
	log, err := os.Create(filepath.Join(r.logs, fileName(title)))
	if err != nil {
		return fmt.Errorf("keeping the log of %q: %w", title, err)
	}
	defer func() { _ = log.Close() }()

	begin := time.Now()
	done := make(chan error, 1)
	r.Logf("  … %s", title)
	go func() { done <- do(ctx, log) }()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			r.Logf("    %s: %s so far", title, time.Since(begin).Round(time.Second))
		case err := <-done:
			if err != nil {
				r.Logf("  ✗ %s (%s)", title, time.Since(begin).Round(time.Second))
				return r.explain(title, log.Name(), err)
			}
			r.Logf("  ✓ %s (%s)", title, time.Since(begin).Round(time.Second))
			return nil
		}
	}
}

func (r *Reporter) explain(title, log string, err error) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: interrupted", title)
	}
	tail := lastLines(log, 15)
	if tail == "" {
		return fmt.Errorf("%s: %w", title, err)
	}
	return fmt.Errorf("%s: %w\n--- the end of %s ---\n%s", title, err, log, tail)
}

func lastLines(file string, n int) string {
	raw, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimRight(string(raw), "\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}

var notInFileName = regexp.MustCompile(`[^a-zA-Z0-9.]+`)

func fileName(title string) string {
	return strings.Trim(notInFileName.ReplaceAllString(title, "-"), "-") + ".log"
}

// Command is a program to run. An empty Dir means the working directory. Env is added to the
// environment.
type Command struct {
	Dir   string
	Env   []string
	Stdin io.Reader
	Args  []string
}

// Run runs the command and writes both of its outputs to log.
func (c Command) Run(ctx context.Context, log io.Writer) error {
	cmd := c.build(ctx)
	cmd.Stdout, cmd.Stderr = log, log
	fmt.Fprintf(log, "$ %s\n", strings.Join(c.Args, " "))
	return c.named(cmd.Run())
}

// Output runs the command and returns its standard output. It writes the standard error to log.
func (c Command) Output(ctx context.Context, log io.Writer) (string, error) {
	cmd := c.build(ctx)
	cmd.Stderr = log
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), c.named(err)
}

func (c Command) build(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Stdin = c.Dir, c.Stdin
	cmd.Env = append(os.Environ(), c.Env...)
	// The child has its own process group. So Ctrl-C does not reach it directly. Cancel passes the
	// interrupt on, and the child and its children can end by themselves.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

func (c Command) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", strings.Join(c.Args[:min(len(c.Args), 3)], " "), err)
}
