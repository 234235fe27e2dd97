// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckSums(t *testing.T) {
	const a = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
	for _, tt := range []struct {
		name   string
		change func(folder string, list string) (string, error)
		err    string
	}{
		{"unchanged", func(_, list string) (string, error) { return list, nil }, ""},
		{"with a signature", func(folder, list string) (string, error) {
			return list, os.WriteFile(filepath.Join(folder, signatureFile), nil, 0o600)
		}, ""},
		{"changed file", func(folder, list string) (string, error) {
			return list, os.WriteFile(filepath.Join(folder, "a"), []byte("A"), 0o600)
		}, "a differs"},
		{"missing file", func(folder, list string) (string, error) { return list, os.Remove(filepath.Join(folder, "a")) },
			"no such file"},
		{"file that is not listed", func(folder, list string) (string, error) {
			return list, os.WriteFile(filepath.Join(folder, "c"), nil, 0o600)
		}, "c is not in SHA256SUMS"},
		{"empty list", func(_, _ string) (string, error) { return "", nil }, "lists no file"},
		{"half a line", func(_, list string) (string, error) { return list[:100], nil }, "invalid line"},
		{"file listed twice", func(_, list string) (string, error) { return list + a + "  a\n", nil }, "invalid line"},
		{"path out of the folder", func(_, _ string) (string, error) { return a + "  ../a\n", nil }, "invalid line"},
		{"hidden file", func(_, _ string) (string, error) { return a + "  .a\n", nil }, "invalid line"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			folder := t.TempDir()
			write(t, folder, "a", "a")
			write(t, folder, "b", "b")
			list, err := sums(folder)
			if err != nil || !strings.HasPrefix(list, a+"  a\n") || strings.Count(list, "\n") != 2 {
				t.Fatalf("sums %q, %v", list, err)
			}
			list, err = tt.change(folder, list)
			if err != nil {
				t.Fatal(err)
			}
			write(t, folder, sumsFile, list)
			if err := checkSums(folder); (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
	if err := checkSums(t.TempDir()); err == nil {
		t.Error("no error without a list")
	}
}
