// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// pidFiles are the PID files of the private engine and of its containerd.
var pidFiles = []string{pidFile, filepath.Join(runDir, "engine", "containerd", "containerd.pid")}

// forgetDead removes the PID files of an engine that no longer runs. /run may survive a restart of
// the machine. Then another process may have the same PID, and dockerd would not start, because it
// would take that process for itself.
func forgetDead(proc string, files ...string) error {
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("preparing the private engine: %w", err)
		}
		if ofEngine(proc, strings.TrimSpace(string(raw))) {
			continue
		}
		if err := os.Remove(file); err != nil {
			return fmt.Errorf("preparing the private engine: %w", err)
		}
	}
	return nil
}

// ofEngine reports whether the process was started with the paths of the private engine.
func ofEngine(proc, pid string) bool {
	args, err := os.ReadFile(filepath.Join(proc, filepath.Base(pid), "cmdline"))
	return err == nil && bytes.Contains(args, []byte(runDir+"/"))
}
