// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"os"
	"path/filepath"
	"testing"
)

func TestForgetDead(t *testing.T) {
	for name, tc := range map[string]struct {
		pid  string
		kept bool
	}{
		"the engine itself":                   {pid: "10\n", kept: true},
		"a stranger that has its number":      {pid: "11"},
		"no process":                          {pid: "12"},
		"a file that was written half":        {pid: ""},
		"a file that is not a process number": {pid: "../10/../11"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for pid, args := range map[string]string{"10": "dockerd\x00--config-file\x00" + config,
				"11": "dockerd\x00--host\x00fd://"} {
				write(t, filepath.Join(dir, pid, "cmdline"), args)
			}
			file := filepath.Join(dir, "engine.pid")
			write(t, file, tc.pid)
			if err := forgetDead(dir, file, filepath.Join(dir, "missing.pid")); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(file); (err == nil) != tc.kept {
				t.Errorf("kept is %v, want %v", err == nil, tc.kept)
			}
		})
	}
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
