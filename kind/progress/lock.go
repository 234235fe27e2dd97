// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// MachineLock is the name of a lock file in _output. Heavy specs of parallel suites take this lock,
// and so does the creation of a cluster in parallel to them.
const MachineLock = "e2e-machine.lock"

// Lock takes the machine-wide lock of this file and returns the function that releases it. waiting
// is called once if another process has the lock. If a process dies, the kernel releases its lock.
func Lock(ctx context.Context, file string, waiting func()) (unlock func(), err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	for first := true; ; first = false {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			_ = f.Close()
			return nil, fmt.Errorf("taking the lock %s: %w", file, err)
		}
		if first {
			waiting()
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}
