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
	"time"
)

func TestWrite(t *testing.T) {
	dir, files := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(files, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "program")
	for name, content := range map[string]string{
		program: "PK is not its first word", filepath.Join(files, "a"): "one", filepath.Join(files, "sub", "b"): "",
	} {
		if err := os.WriteFile(name, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	output := filepath.Join(dir, "bundled")
	if err := write(output, program, files); err != nil {
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
	defer archive.Close()
	want := map[string]string{"a": "one", "sub/b": ""}
	for _, file := range archive.File {
		from, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(from)
		if err != nil || string(got) != want[file.Name] {
			t.Errorf("%s: %q, %v", file.Name, got, err)
		}
		if file.Mode().Perm() != 0o700 {
			t.Errorf("%s: mode %v", file.Name, file.Mode())
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

func TestTheSameFilesMakeTheSameBytes(t *testing.T) {
	var outputs []string
	for _, age := range []time.Duration{0, time.Hour} {
		dir, files := t.TempDir(), t.TempDir()
		program, file := filepath.Join(dir, "program"), filepath.Join(files, "a")
		for _, path := range []string{program, file} {
			if err := os.WriteFile(path, []byte("one"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		changed := time.Now().Add(-age)
		if err := os.Chtimes(file, changed, changed); err != nil {
			t.Fatal(err)
		}
		if err := write(program, program, files); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		outputs = append(outputs, string(content))
	}
	if outputs[0] != outputs[1] {
		t.Error("the time of a file changes the output")
	}
}

func TestWriteKeepsTheOldFile(t *testing.T) {
	dir := t.TempDir()
	output := filepath.Join(dir, "bundled")
	if err := os.WriteFile(output, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(output, output, filepath.Join(dir, "missing")); err == nil {
		t.Error("no error for a directory that does not exist")
	}
	if content, err := os.ReadFile(output); err != nil || string(content) != "old" {
		t.Errorf("the old file is %q, %v", content, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
