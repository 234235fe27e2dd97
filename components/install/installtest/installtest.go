// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package installtest provides helpers for the tests of all installers.
package installtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// Main runs the tests of a package, faster than by default. It unsets GOTMPDIR, because t.TempDir prefers
// it to TMPDIR: `make test` sets GOTMPDIR to a directory on the disk, for the compiler, and TMPDIR to one
// in memory, for the tests. The installer syncs each file that it writes, so on a disk its tests take
// three times as long. Main also collects garbage less often.
func Main(m *testing.M) {
	if err := os.Unsetenv("GOTMPDIR"); err != nil {
		panic(err)
	}
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// Must fails the test if err is not nil.
func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Read returns the content of a file.
func Read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	Must(t, err)
	return data
}

// Files returns every file and directory below root, by path, with content, mode and group. It
// leaves out the file lock.
func Files(t *testing.T, root, lock string) map[string]string {
	t.Helper()
	all := map[string]string{}
	Must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == lock || path == root {
			return err
		}
		if d.IsDir() {
			all[path] = "directory"
			return nil
		}
		file, _, err := atomicfile.Read(path)
		all[path] = fmt.Sprintf("%v group %d: %s", file.Mode, file.GID, file.Data)
		return err
	}))
	return all
}

// Mentions checks that err contains text. If text is empty, err must be nil.
func Mentions(t *testing.T, err error, text string) {
	t.Helper()
	if (err == nil) != (text == "") || err != nil && !strings.Contains(err.Error(), text) {
		t.Errorf("error is %v, want one that mentions %q", err, text)
	}
}
