// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
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
