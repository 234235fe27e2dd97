// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesync

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// maxHeartbeatBytes is the maximum size of a heartbeat.
const maxHeartbeatBytes = 4 << 10

// WriteHeartbeat records in a file that the process works, and what it lacks; lacks is empty if
// the process is ready. The file is replaced atomically.
//
// Probes read the file ([CheckHeartbeat]). scope-sync has no listener for probes: it can write
// the API server's files, so it accepts no connections.
func WriteHeartbeat(path, lacks string) error {
	temp := path + ".tmp"
	if err := os.WriteFile(temp, []byte(lacks[:min(len(lacks), maxHeartbeatBytes)]), 0o600); err != nil {
		return fmt.Errorf("writing the heartbeat: %w", err)
	}
	if err := os.Rename(temp, path); err != nil {
		return fmt.Errorf("writing the heartbeat: %w", err)
	}
	return nil
}

// CheckHeartbeat returns an error if the heartbeat is older than maxAge. If ready is true, it
// also returns an error if the process lacks something.
func CheckHeartbeat(path string, maxAge time.Duration, ready bool) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading the heartbeat: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("reading the heartbeat: %w", err)
	}
	if age := time.Since(info.ModTime()); age > maxAge {
		return fmt.Errorf("the last heartbeat was %v ago", age.Round(time.Second))
	}
	lacks, err := io.ReadAll(io.LimitReader(file, maxHeartbeatBytes))
	if err != nil {
		return fmt.Errorf("reading the heartbeat: %w", err)
	}
	if text := strings.TrimSpace(string(lacks)); ready && text != "" {
		return errors.New("not ready: " + text)
	}
	return nil
}
