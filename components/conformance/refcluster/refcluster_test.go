// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package refcluster

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSwitchRunsTheCommandInTheCheckout(t *testing.T) {
	checkout := t.TempDir()
	if err := Switch(t.Context(), checkout, "touch {profile}.switched", "in-tree"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(checkout, "in-tree.switched")); err != nil {
		t.Error(err)
	}
	for command, want := range map[string]string{
		"":                     "-up is empty",
		"ls no-such-{profile}": "no-such-in-tree",
	} {
		if err := Switch(t.Context(), checkout, command, "in-tree"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error of %q is %v, want %q in it", command, err, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	if got, err := Numbers("1,40"); err != nil || !slices.Equal(got, []int{1, 40}) {
		t.Errorf("numbers %v, error %v", got, err)
	}
	for _, wrong := range []string{"", "0", "-1", "x", "1,,2", "1, 2"} {
		if got, err := Numbers(wrong); err == nil {
			t.Errorf("no error for %q, but %v", wrong, got)
		}
	}
}

func TestReplacePart(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("a\nBEGIN\nold\nEND\nb\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := ReplacePart(page, "BEGIN\n", "END\n", "new\n"); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || string(got) != "a\nBEGIN\nnew\nEND\nb\n" {
		t.Errorf("page is %q, error %v", got, err)
	}
	if err := ReplacePart(page, "NONE\n", "END\n", "new\n"); err == nil || !strings.Contains(err.Error(), "NONE") {
		t.Errorf("error %v, want the missing marker in it", err)
	}
}
