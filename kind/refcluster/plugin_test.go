// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package refcluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlugin finds both programs in PATH, as kubectl does. The program bulkhead here prints its name and arguments.
func TestPlugin(t *testing.T) {
	bin := t.TempDir()
	const program = "#!/bin/sh\necho \"${0##*/} $*\"\n"
	if err := os.WriteFile(filepath.Join(bin, "bulkhead"), []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(bin, plugin)
	if err := os.WriteFile(stale, []byte("an old copy"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for range 2 { // a second run changes nothing
		if err := addPlugin(bin); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{
			plugin:         "kubectl-bulkhead why --output\n",
			pluginComplete: "kubectl-bulkhead __complete why --output\n",
		} {
			got, err := exec.CommandContext(t.Context(), name, "why", "--output").CombinedOutput()
			if err != nil || string(got) != want {
				t.Errorf("%s: %q, %v, want %q", name, got, err, want)
			}
		}
	}
	if files, err := os.ReadDir(bin); err != nil || len(files) != 3 {
		t.Errorf("the folder has %v, %v", files, err)
	}
}

// TestPluginInTheDocs: the commands for other machines make the same link and script.
func TestPluginInTheDocs(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	script := strings.ReplaceAll(completeScript, "\n", `\n`)
	for _, want := range []string{
		`ln -s "$(command -v bulkhead)" /usr/local/bin/` + plugin + "\n", "printf '" + script + "'",
		"/usr/local/bin/" + pluginComplete + "\n",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("docs/operations.md has no %q", want)
		}
	}
}

func TestPluginCannotBeMade(t *testing.T) {
	if err := addPlugin(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("no error")
	}
}
