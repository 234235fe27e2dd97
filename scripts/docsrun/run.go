// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// runner runs the blocks of a page in the order of the page.
type runner struct {
	out  io.Writer
	page string
	// shells are the machines of each place.
	shells map[Place][]shell
	// variables are the assignments of earlier blocks, for each machine and as bash prints them.
	variables map[string]string

	ran, failed, marked int
}

// run runs the blocks. It goes on after a failure, so that one run shows all failures and the last
// blocks uninstall Bulkhead. It stops when ctx ends.
func (r *runner) run(ctx context.Context, blocks []Block) error {
	r.variables = map[string]string{}
	for i, b := range blocks {
		if b.Mark.Place == None {
			r.marked++
			r.printf("[%d/%d] %s:%d not run: %s", i+1, len(blocks), r.page, b.Line, b.Mark.Reason)
			continue
		}
		if b.Mark.Instead != "" {
			b.Commands = []Command{{Text: b.Mark.Instead}}
		}
		r.printf("[%d/%d] %s:%d on %s: %s", i+1, len(blocks), r.page, b.Line, b.Mark.Place, b.title())
		begin := time.Now()
		err := r.runBlock(ctx, b)
		r.ran++
		if err != nil {
			r.failed++
			r.printf("    FAILED after %s: %v", since(begin), err)
		} else {
			r.printf("    ok after %s", since(begin))
		}
		if ctx.Err() != nil {
			break
		}
	}
	r.printf("%d blocks run, %d failed, %d marked as not run", r.ran, r.failed, r.marked)
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted: the blocks after this one have not run")
	case r.failed > 0:
		return fmt.Errorf("%d blocks of %s failed: see FAILED above", r.failed, r.page)
	}
	return nil
}

func (r *runner) printf(format string, args ...any) { fmt.Fprintf(r.out, format+"\n", args...) }

func since(begin time.Time) time.Duration { return time.Since(begin).Round(100 * time.Millisecond) }

// runBlock runs a block on each machine of its place, one after the other.
func (r *runner) runBlock(ctx context.Context, b Block) error {
	if len(r.shells[b.Mark.Place]) == 0 {
		return fmt.Errorf("there is no machine for the place %s", b.Mark.Place)
	}
	var errs []error
	for _, s := range r.shells[b.Mark.Place] {
		if ctx.Err() != nil {
			break
		}
		output, err := r.runUntil(ctx, s, b)
		if err != nil {
			errs = append(errs, fmt.Errorf("on %s: %w\n%s", s.name, err, indent(lastLines(output))))
		}
	}
	return errors.Join(errs...)
}

// retryInterval is the time between two runs of a block that is retried.
const retryInterval = 2 * time.Second

// runUntil runs a block on one machine, and again until it succeeds if its mark says so.
func (r *runner) runUntil(ctx context.Context, s shell, b Block) (output string, err error) {
	if b.Mark.Before != "" {
		if output, err = r.runBefore(ctx, s, b); err != nil {
			return output, err
		}
	}
	begin := time.Now()
	for {
		output, err = r.runOn(ctx, s, b)
		if err == nil || time.Since(begin) >= b.Mark.Retry {
			return output, err
		}
		select {
		case <-ctx.Done():
			return output, err
		case <-time.After(retryInterval):
		}
	}
}

// runBefore makes the situation for which the block is.
func (r *runner) runBefore(ctx context.Context, s shell, b Block) (string, error) {
	b.Commands = []Command{{Text: b.Mark.Before}}
	b.Mark.Exit = 0
	output, err := r.runOn(ctx, s, b)
	if err != nil {
		return output, fmt.Errorf("before the block: %w", err)
	}
	return output, nil
}

// runOn runs a block on one machine and compares its output with the page.
func (r *runner) runOn(ctx context.Context, s shell, b Block) (output string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, b.Mark.Timeout, fmt.Errorf("no end within %s", b.Mark.Timeout))
	defer cancel()
	program := newScript(b, r.variables[s.name], s.pidFile)
	raw, code, err := s.run(ctx, program.text)
	outputs, variables := program.split(raw, len(b.Commands))
	output = strings.Join(outputs, "")
	if err != nil {
		return output, err
	}
	if code != b.Mark.Exit {
		return output, fmt.Errorf("exit code %d, want %d: %s", code, b.Mark.Exit, b.Commands[min(len(outputs),
			len(b.Commands))-1].title())
	}
	r.variables[s.name] += variables
	if len(outputs) < len(b.Commands) {
		return output, fmt.Errorf("the block ended with %d before its last command", code)
	}
	var errs []error
	for i, c := range b.Commands {
		errs = append(errs, compare(c, outputs[i]))
	}
	return output, errors.Join(errs...)
}

// title returns the first line of a block, for progress lines.
func (b Block) title() string { return b.Commands[0].title() }

func (c Command) title() string {
	const width = 80
	first, _, _ := strings.Cut(strings.TrimSpace(c.Text), "\n")
	if runes := []rune(first); len(runes) > width {
		return string(runes[:width]) + ellipsis
	}
	return first
}

// lastLines returns the end of an output, which usually has the error.
func lastLines(output string) string {
	const limit = 40
	lines := strings.Split(strings.TrimRight(output, "\n"), "\n")
	if len(lines) > limit {
		lines = append([]string{ellipsis}, lines[len(lines)-limit:]...)
	}
	return strings.Join(lines, "\n")
}

func indent(text string) string { return "    | " + strings.ReplaceAll(text, "\n", "\n    | ") }
