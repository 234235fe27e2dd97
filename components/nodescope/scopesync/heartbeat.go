// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package heartbeat lets one process tell another on the same file system that it works,
// and what it lacks. scope-sync has no listener that a probe could ask: whoever may write
// the API server's files should be reached by nobody.
package scopesync

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// maxHeartbeatBytes bounds what is told.
const maxHeartbeatBytes = 4 << 10

// WriteHeartbeat tells that the process works, and what it lacks; empty for nothing. The file is
// replaced in one step.
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

// CheckHeartbeat reports whether the last beat is not older than that. If ready is true it also
// reports what is lacking.
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
