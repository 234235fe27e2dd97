// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
)

// inMemory is a file system in memory, on most Linux machines.
const inMemory = "/dev/shm"

// temporary returns a new directory for the files of tests. The installer writes every file through to
// the disk, and its tests write tens of thousands: in memory they take a third of the time. If there is
// no file system in memory, or programs cannot run from it (as in Docker's containers), the directory
// is on the disk.
func temporary(ctx context.Context) (directory string, remove func(), err error) {
	remove = func() { _ = os.RemoveAll(directory) }
	directory, err = os.MkdirTemp(inMemory, "bulkhead-test-")
	if err == nil {
		program := filepath.Join(directory, "program")
		if os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700) == nil && exec.CommandContext(ctx, program).Run() == nil {
			return directory, remove, nil
		}
		remove()
	}
	directory, err = os.MkdirTemp("", "bulkhead-test-")
	return directory, remove, err
}
