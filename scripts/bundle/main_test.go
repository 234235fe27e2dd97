// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	program, first, second := filepath.Join(dir, "program"), filepath.Join(dir, "a.test"), filepath.Join(dir, "b.test")
	for name, content := range map[string]string{program: "PK is not its first word", first: "one", second: ""} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	output := filepath.Join(dir, "bundled")
	if err := write(output, program, []string{first, second}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(content, []byte("PK is not its first word")) {
		t.Errorf("the file does not begin with the program: %q", content)
	}
	archive, err := zip.OpenReader(output)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close() //nolint:errcheck // it was only read
	want := map[string]string{"a.test": "one", "b.test": ""}
	for _, file := range archive.File {
		from, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(from)
		if err != nil || string(got) != want[file.Name] {
			t.Errorf("%s: %q, %v", file.Name, got, err)
		}
		delete(want, file.Name)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
	info, err := os.Stat(output)
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestWriteKeepsTheOldFile(t *testing.T) {
	dir := t.TempDir()
	output := filepath.Join(dir, "bundled")
	if err := os.WriteFile(output, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(output, output, []string{filepath.Join(dir, "missing")}); err == nil {
		t.Error("no error for a file that does not exist")
	}
	if content, err := os.ReadFile(output); err != nil || string(content) != "old" {
		t.Errorf("the old file is %q, %v", content, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
