// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadInput(t *testing.T) {
	write := func(text string) string {
		file := filepath.Join(t.TempDir(), "input")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	full := strings.Repeat("a", 1<<20)
	for _, tc := range []struct{ name, file, stdin, want, wrong string }{
		{"file", write(full), "", full, ""},
		{"standard input", "-", full, full, ""},
		{"file that is too long", write(full + "a"), "", "", "it is longer than 1 MiB"},
		{"standard input that is too long", "-", full + "a", "", "it is longer than 1 MiB"},
		{"no file", filepath.Join(t.TempDir(), "absent"), "", "", "give a file that exists, or - for standard input"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := readInput(tc.file, strings.NewReader(tc.stdin), 1)
			if tc.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wrong) {
					t.Errorf("got %v, want %s", err, tc.wrong)
				}
				return
			}
			if err != nil || string(got) != tc.want {
				t.Errorf("got %d bytes and %v, want %d bytes", len(got), err, len(tc.want))
			}
		})
	}
}

func TestReaderSaysHowMuchItHasRead(t *testing.T) {
	p := &progress{}
	r := newCountedReader("-", strings.NewReader(strings.Repeat("a", 3<<20)), p)
	if want := "reading standard input: 0 MiB so far"; p.current != want {
		t.Errorf("before: %q, want %q", p.current, want)
	}
	if n, err := io.Copy(io.Discard, r); n != 3<<20 || err != nil {
		t.Errorf("read %d bytes: %v", n, err)
	}
	if want := "reading standard input: 3 MiB so far"; p.current != want {
		t.Errorf("after: %q, want %q", p.current, want)
	}
	if named := newCountedReader("audit.log", r, p); named.name != "audit.log" {
		t.Errorf("a file has the name %q", named.name)
	}
}
