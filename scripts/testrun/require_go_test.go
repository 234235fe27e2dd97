// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A fake go has a version. It can use a newer one only if the file downloads exists.
const fakeGo = `#!/bin/sh
echo "go version go$(cat "$(dirname "$0")/version") linux/amd64"
[ "$GOTOOLCHAIN" = local ] || [ -e "$(dirname "$0")/downloads" ]
`

// TestOldGoIsReported runs the check that precedes make's targets.
func TestOldGoIsReported(t *testing.T) {
	for _, tc := range []struct {
		name, version string
		downloads     bool
		want          string
	}{
		{"newer", "1.99.1", false, ""},
		{"older, and it can download", "1.24.2", true, ""},
		{"older, and it cannot download", "1.24.2", false, "and this is 1.24.2; run: go env -w GOTOOLCHAIN=auto"},
		{"too old to download", "1.19.8", true, "and this is 1.19.8; install it: https://go.dev/dl/"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			writeFile(t, filepath.Join(dir, "go"), fakeGo, 0o700)
			writeFile(t, filepath.Join(dir, "version"), tc.version, 0o600)
			if tc.downloads {
				writeFile(t, filepath.Join(dir, "downloads"), "", 0o600)
			}
			check := exec.Command("../require-go.sh")
			check.Env = append(os.Environ(), "GOTOOLCHAIN=", "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
			out, err := check.CombinedOutput()
			if (err == nil) != (tc.want == "") || !strings.Contains(string(out), tc.want) {
				t.Errorf("error %v, output %q, want %q", err, out, tc.want)
			}
		})
	}
}

func writeFile(t *testing.T, file, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}
