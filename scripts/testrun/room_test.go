// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestRaise(t *testing.T) {
	for _, tc := range []struct{ name, before, after string }{
		{"too few become enough", "128\n", "512\n"},
		{"as many stay", "512\n", "512\n"},
		{"more stay", "8192\n", "8192\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "limit")
			if err := os.WriteFile(file, []byte(tc.before), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.CommandContext(t.Context(), "sh", "-c", raise(file, 512)).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if after, err := os.ReadFile(file); err != nil || string(after) != tc.after {
				t.Errorf("%q, %v; want %q", after, err, tc.after)
			}
		})
	}
	if exec.CommandContext(t.Context(), "sh", "-c", raise(filepath.Join(t.TempDir(), "no", "limit"), 512)).Run() == nil {
		t.Error("no error where the file is not")
	}
}
