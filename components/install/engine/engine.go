// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package engine runs the steps by which an installer changes a host. It prints one line for each
// step.
//
// A [Step] applies a change and waits until the change is in force. A [Transaction] runs steps with
// a journal. Package journal saves the old state to the disk before a step changes anything.
//
// If a step fails, or a run was killed, the transaction is reverted from its journal alone. The
// steps take no part in a revert, because the process that rolls back is often not the process that
// applied.
package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// reportInterval is the time between two progress lines of a long wait.
const reportInterval = 15 * time.Second

// Engine prints, waits and locks for one installer. It is not safe for concurrent use.
type Engine struct {
	Out io.Writer
	Now func() time.Time
	// Poll is the time between two checks of a wait.
	Poll time.Duration
	// Lock is the path of the file that an installer locks while it changes the host.
	Lock string
}

// Logf prints one line.
func (e *Engine) Logf(format string, args ...any) { _, _ = fmt.Fprintf(e.Out, format+"\n", args...) }

// Note prints a remark about the step that runs.
func (e *Engine) Note(format string, args ...any) { e.Logf("  note       "+format, args...) }

// Until calls check until it succeeds. After timeout, the error contains the last error of check.
// If ctx is cancelled, the error wraps [context.Canceled].
func (e *Engine) Until(ctx context.Context, timeout time.Duration, what string,
	check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ticker := time.NewTicker(e.Poll)
	defer ticker.Stop()
	var last error
	begin, reported := e.Now(), e.Now()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if e.Now().Sub(reported) >= reportInterval {
			reported = e.Now()
			e.Logf("  waiting    for %s, %s so far: %v", what, reported.Sub(begin).Round(time.Second), err)
		}
		// The deadline may have interrupted this check. The error of the check before it explains
		// more.
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return fmt.Errorf("waiting for %s: interrupted: %w", what, context.Canceled)
			}
			return fmt.Errorf("waiting for %s: not within %s: %w", what, timeout, last)
		case <-ticker.C:
		}
	}
}

// Patience is how long a command of an administrator waits for another installer to end. A renewal of
// certificates, which systemd starts when a file changes, holds the lock for some seconds.
const Patience = 30 * time.Second

// lockedError reports that another installer is running.
type lockedError struct{ lock string }

func (e lockedError) Error() string {
	return fmt.Sprintf("another bulkhead is changing this host (it has locked %s): wait until it has ended and run this "+
		"again", e.lock)
}

// Locked runs change while it holds the lock, so that no other installer can run on this host. It
// fails at once if another installer is running.
func (e *Engine) Locked(change func() error) (err error) {
	lock, err := os.OpenFile(e.Lock, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("cannot lock %s: %w", e.Lock, err)
	}
	// Close releases the lock. If this process is killed, the kernel releases it.
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return lockedError{e.Lock}
	}
	return change()
}

// LockedWithin is like [Engine.Locked], but waits up to timeout for another installer to end.
func (e *Engine) LockedWithin(ctx context.Context, timeout time.Duration, change func() error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ticker := time.NewTicker(e.Poll)
	defer ticker.Stop()
	for first := true; ; first = false {
		err := e.Locked(change)
		if !errors.As(err, &lockedError{}) {
			return err
		}
		if first {
			e.Logf("waiting for another bulkhead on this host to end")
		}
		select {
		case <-ctx.Done():
			return err
		case <-ticker.C:
		}
	}
}
