// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWithHugePages(t *testing.T) {
	failed := errors.New("does not compile")
	for _, tt := range []struct{ name, before, during, after string }{
		{"madvise", "always [madvise] never\n", "always", "madvise"},
		{"never", "always madvise [never]\n", "always", "never"},
		{"always", "[always] madvise never\n", "[always] madvise never\n", "[always] madvise never\n"},
		{"another kernel's format", "madvise\n", "madvise\n", "madvise\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "enabled")
			if err := os.WriteFile(file, []byte(tt.before), 0o600); err != nil {
				t.Fatal(err)
			}
			var log strings.Builder
			err := withHugePages(file, &log, func() error {
				wantContent(t, file, tt.during)
				return failed
			})
			wantContent(t, file, tt.after)
			if !errors.Is(err, failed) {
				t.Errorf("error %v, want that of the compilation", err)
			}
			if told := log.String() != ""; told != (tt.before != tt.after) {
				t.Errorf("the log says %q", log.String())
			}
		})
	}
}

func TestHugePagesThatCannotBeRestored(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "gone", "enabled")
	if err := errors.Join(os.Mkdir(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("[never]"), 0o600)); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	if err := withHugePages(file, &log, func() error { return os.RemoveAll(filepath.Dir(file)) }); err != nil {
		t.Fatal(err)
	}
	if want := "to restore it, run: echo never >" + file; !strings.Contains(log.String(), want) {
		t.Errorf("the log says %q, want %q", log.String(), want)
	}
}

func TestWithoutHugePages(t *testing.T) {
	called := false
	file := filepath.Join(t.TempDir(), "missing")
	if err := withHugePages(file, nil, func() error { called = true; return nil }); err != nil || !called {
		t.Errorf("called %v, error %v; want a compilation without the setting", called, err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Error("the file of the setting was made")
	}
}

func wantContent(t *testing.T, file, want string) {
	t.Helper()
	got, err := os.ReadFile(file)
	if err != nil || string(got) != want {
		t.Errorf("the setting is %q, want %q (%v)", got, want, err)
	}
}
