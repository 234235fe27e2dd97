// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOnlyRootMayReplaceTheProgram(t *testing.T) {
	// A program of the operating system.
	if err := CheckProgram("/usr/bin/env"); err != nil {
		t.Errorf("program of root: %v", err)
	}
	open := filepath.Join(t.TempDir(), "open")
	program := filepath.Join(open, "bulkhead")
	if err := os.Mkdir(open, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"directory": open, "program": program} {
		t.Run(name+" that all users may write to", func(t *testing.T) {
			if err := os.Chmod(path, 0o777); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = os.Chmod(path, 0o755) }()
			if err := CheckProgram(program); err == nil || !strings.Contains(err.Error(), path+" belongs to user") ||
				!strings.Contains(err.Error(), "mode 0777") {
				t.Errorf("error is %v", err)
			}
		})
	}
	if os.Geteuid() == 0 {
		t.Run("program of another user", func(t *testing.T) {
			if err := os.Chown(program, 1000, 1000); err != nil {
				t.Fatal(err)
			}
			if err := CheckProgram(program); err == nil || !strings.Contains(err.Error(), "belongs to user 1000") {
				t.Errorf("error is %v", err)
			}
		})
	}
	if err := CheckProgram(filepath.Join(open, "none")); err == nil {
		t.Error("no error for a program that does not exist")
	}
}
