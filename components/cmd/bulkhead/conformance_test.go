// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFindConformance(t *testing.T) {
	beside, inPath := t.TempDir(), t.TempDir()
	t.Setenv("PATH", inPath)
	if _, err := findConformance(beside); err == nil || !strings.Contains(err.Error(), "make conformance") {
		t.Errorf("without the program: %v", err)
	}
	for _, dir := range []string{inPath, beside} { // a program beside this one comes first
		want := filepath.Join(dir, conformanceProgram)
		if err := os.WriteFile(want, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if got, err := findConformance(beside); err != nil || got != want {
			t.Errorf("found %q, %v, want %q", got, err, want)
		}
	}
}
