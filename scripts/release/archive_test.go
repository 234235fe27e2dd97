// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var commitTime = time.Unix(1795650751, 0).UTC()

// write writes a file in a folder and returns its path.
func write(t *testing.T, folder, name, content string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o755)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTarDependsOnlyOnContent(t *testing.T) {
	archive := func(aged time.Duration, reverse bool, content string, modified time.Time) string {
		folder := t.TempDir()
		a := entry{"x/a", write(t, folder, "1", "one"), 0o755}
		b := entry{"x/b", write(t, folder, "2", content), 0o644}
		old := time.Now().Add(-aged)
		if err := os.Chtimes(a.path, old, old); err != nil {
			t.Fatal(err)
		}
		entries := []entry{a, b}
		if reverse {
			entries = []entry{b, a}
		}
		path := filepath.Join(folder, "archive")
		if err := tarGzFile(path, modified, entries); err != nil {
			t.Fatal(err)
		}
		digest, err := sum(path)
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
	first := archive(0, false, "two", commitTime)
	for _, tt := range []struct {
		name, got string
		same      bool
	}{
		{"another folder, time of a file and order", archive(time.Hour, true, "two", commitTime), true},
		{"another content", archive(0, false, "2", commitTime), false},
		{"another time of the commit", archive(0, false, "two", commitTime.Add(time.Second)), false},
	} {
		if (tt.got == first) != tt.same {
			t.Errorf("%s: same bytes %v, want %v", tt.name, !tt.same, tt.same)
		}
	}
}

func TestTarHeaders(t *testing.T) {
	folder := t.TempDir()
	var out bytes.Buffer
	err := writeTar(&out, commitTime, []entry{
		{"b", write(t, folder, "1", "one"), 0o644}, {"a", write(t, folder, "2", "two"), 0o755},
	})
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewReader(&out)
	var names []string
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
		if header.Uid != 0 || header.Gid != 0 || header.Uname != "" || !header.ModTime.Equal(commitTime) {
			t.Errorf("%s: %+v", header.Name, header)
		}
	}
	if got := strings.Join(names, " "); got != "a b" {
		t.Errorf("files %q", got)
	}
	if err := writeTar(io.Discard, commitTime, []entry{{"a", filepath.Join(folder, "missing"), 0o644}}); err == nil {
		t.Error("no error for a missing file")
	}
}
