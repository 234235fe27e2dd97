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

// pidFiles are those of the private engine and of the containerd that it starts.
var pidFiles = []string{pidFile, filepath.Join(runDir, "engine", "containerd", "containerd.pid")}

// forgetDead removes the files that name processes of an engine that is no more.
// Where /run outlives a restart of the machine, their numbers may be those of
// strangers by now, and dockerd would take them for itself and not start.
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

// ofEngine says whether the process was started with the private engine's places.
func ofEngine(proc, pid string) bool {
	args, err := os.ReadFile(filepath.Join(proc, filepath.Base(pid), "cmdline"))
	return err == nil && bytes.Contains(args, []byte(runDir+"/"))
}
