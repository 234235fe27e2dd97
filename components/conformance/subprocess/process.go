// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package subprocess

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// stopTimeout is how long a program may take to end before it is killed.
const stopTimeout = 10 * time.Second

// Process is a running program. Create one with [Start].
type Process struct {
	// Started is the time of the start.
	Started time.Time
	name    string
	cmd     *exec.Cmd
	log     string
	// ended is closed when the process has ended.
	ended chan struct{}
}

// Start runs a program in a directory, where it also writes its log. The environment is that of
// this process plus env. When ctx is done, the program gets a signal to end. It is killed if it
// does not end in time.
func Start(ctx context.Context, dir, program string, env []string, args ...string) (*Process, error) {
	name := filepath.Base(program)
	p := &Process{
		name:  name,
		log:   filepath.Join(dir, fmt.Sprintf("%s-%d.log", name, time.Now().UnixNano())),
		ended: make(chan struct{}),
	}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	p.cmd = exec.CommandContext(ctx, program, args...)
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Dir = log, log, dir
	p.cmd.Env = append(os.Environ(), env...)
	// The terminal's signals must not reach the program: this process stops its programs, in its
	// own order.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = stopTimeout
	p.Started = time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", name, err), log.Close())
	}
	go func() {
		defer close(p.ended)
		// The exit status is ignored. The log shows how the program ended.
		_ = p.cmd.Wait()
		_ = log.Close()
	}()
	return p, nil
}

// Stop ends the process and waits until it has ended.
func (p *Process) Stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// WaitUntil polls yes until it returns true. It returns an error with the end of the log if the
// process ends or the time is over.
func (p *Process) WaitUntil(ctx context.Context, longest time.Duration, yes func() bool) error {
	over := time.After(longest)
	for !yes() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.ended:
			return fmt.Errorf("%s ended:\n%s", p.name, p.lastLines())
		case <-over:
			return fmt.Errorf("%s was not ready after %v:\n%s", p.name, longest, p.lastLines())
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

func (p *Process) lastLines() string {
	raw, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}
