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

// sh runs a script on this machine, and returns what it prints.
func sh(t *testing.T, script string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "sh", "-s")
	command.Stdin = strings.NewReader("set -e\n" + script)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s\n%v: %s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// A file that is changed or removed is restored with its content and mode. A second break before the
// repair does not lose the original, and a second repair does nothing.
func TestFilesAreRestored(t *testing.T) {
	dir := t.TempDir()
	asidePrefix = filepath.Join(dir, "aside")
	file, folder := filepath.Join(dir, "file"), filepath.Join(dir, "folder")
	sh(t, "echo old >"+file+"; chmod 640 "+file+"; mkdir "+folder+"; echo inside >"+folder+"/a")
	look := func() string {
		return sh(t, "cat "+file+" 2>&1 || true; stat -c %a "+file+" 2>/dev/null || true; ls "+folder+" 2>/dev/null || true")
	}
	want := look()
	for name, broken := range map[string]string{
		"changed": saved(file) + replaced(file, "echo new >>$f"),
		"twice":   saved(file) + replaced(file, "echo new >>$f") + saved(file) + replaced(file, "echo newer >>$f"),
		"removed": removed(file) + removed(folder),
		"made anew": removed(folder) + removed(file) + removed(folder) + "mkdir -p " + folder + "/new\n" +
			"echo other >" + file + "\n",
	} {
		sh(t, broken)
		if look() == want {
			t.Errorf("%s: nothing is broken", name)
		}
		if out := sh(t, restored(file)+restored(folder)); !strings.Contains(out, "restored") || look() != want {
			t.Errorf("%s: printed %q, and there is %q, want %q", name, out, look(), want)
		}
		if out := sh(t, restored(file)+restored(folder)); out != "" || look() != want {
			t.Errorf("%s: the second repair printed %q", name, out)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("the folder has %v, error %v", left, err)
	}
}

// Each replacement has the mode of the file.
func TestReplacedKeepsTheMode(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	sh(t, "echo a >"+file+"; chmod 600 "+file)
	sh(t, replaced(file, "echo b >>$f"))
	if got := sh(t, "cat "+file+"; stat -c %a "+file); got != "a\nb\n600" {
		t.Errorf("%q", got)
	}
}
