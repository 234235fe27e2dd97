// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package atomicfile

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestReaderSeesOldOrNewFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	a, b := bytes.Repeat([]byte("a"), 1<<20), bytes.Repeat([]byte("b"), 1<<20)
	write := func(data []byte) {
		if err := Write(path, Private(data), ""); err != nil {
			t.Error(err)
		}
	}
	write(a)
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 20 {
			write(b)
			write(a)
		}
	})
	for range 40 {
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, a) && !bytes.Equal(got, b) {
			t.Fatalf("%d bytes, %v: neither the old nor the new file", len(got), err)
		}
	}
	wg.Wait()
}

func TestWriteLeavesNoTemporaryFile(t *testing.T) {
	dir, temp := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "kube-apiserver.yaml")
	if err := Write(path, File{Data: []byte("x"), Mode: 0o640, UID: KeepOwner, GID: KeepOwner}, temp); err != nil {
		t.Fatal(err)
	}
	for where, want := range map[string]int{dir: 1, temp: 0} {
		if entries, err := os.ReadDir(where); err != nil || len(entries) != want {
			t.Errorf("%s holds %v (%v), want %d", where, entries, err, want)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestFailedWriteKeepsOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := Write(path, Private([]byte("old")), ""); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, Private([]byte("new")), filepath.Join(dir, "missing")); err == nil {
		t.Fatal("write with a missing temporary directory: no error")
	}
	if err := Write(dir, Private([]byte("new")), ""); err == nil {
		t.Fatal("write over a directory: no error")
	}
	file, exists, err := Read(path)
	if err != nil || !exists || string(file.Data) != "old" {
		t.Errorf("%q, %v, %v", file.Data, exists, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("a temporary file is left: %v", entries)
	}
}

func TestWriteInSetGroupIDDirectoryKeepsGroup(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory to a group that it is not in")
	}
	const group = 65532
	dir := filepath.Join(t.TempDir(), "node-authorizer")
	if err := MakeDir(dir, fs.ModeSetgid|0o750, group); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "serving.key")
	if err := Write(path, File{Data: []byte("x"), Mode: 0o640, UID: KeepOwner, GID: KeepOwner}, ""); err != nil {
		t.Fatal(err)
	}
	file, _, err := Read(path)
	if err != nil || file.GID != group || file.UID != 0 || file.Mode != 0o640 {
		t.Errorf("owner %d:%d, mode %v, %v", file.UID, file.GID, file.Mode, err)
	}
}

func TestSame(t *testing.T) {
	have := File{Data: []byte("x"), Mode: 0o600, UID: 1, GID: 2}
	for _, tc := range []struct {
		name string
		want File
		same bool
	}{
		{"same file", have, true},
		{"any owner", Private([]byte("x")), true},
		{"other bytes", Private([]byte("y")), false},
		{"other mode", File{Data: []byte("x"), Mode: 0o640, UID: KeepOwner, GID: KeepOwner}, false},
		{"other owner", File{Data: []byte("x"), Mode: 0o600, UID: 0, GID: KeepOwner}, false},
		{"other group", File{Data: []byte("x"), Mode: 0o600, UID: KeepOwner, GID: 0}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Same(have, tc.want); got != tc.same {
				t.Errorf("%v, want %v", got, tc.same)
			}
		})
	}
}

func TestMissingFileReturnsNoError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing")
	if err := Remove(path); err != nil {
		t.Error(err)
	}
	if _, exists, err := Read(path); exists || err != nil {
		t.Errorf("%v, %v", exists, err)
	}
}

func TestReplace(t *testing.T) {
	for _, tc := range []struct {
		name string
		// meanwhile runs after the file was read and before it is replaced.
		meanwhile func(path string) error
		changed   bool
		want      string
	}{
		{"unchanged file: replaced", func(string) error { return nil }, false, "new"},
		{"only modification time changed: replaced",
			func(path string) error { return os.WriteFile(path, []byte("old"), 0o640) }, false, "new"},
		{"content changed: left alone", func(path string) error { return os.WriteFile(path, []byte("other"), 0o640) }, true,
			"other"},
		{"mode changed: left alone", func(path string) error { return os.Chmod(path, 0o600) }, true, "old"},
		{"file removed: not created again", os.Remove, true, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "file")
			if err := errors.Join(os.WriteFile(path, []byte("old"), 0o600), os.Chmod(path, 0o640)); err != nil {
				t.Fatal(err)
			}
			before, _, err := Read(path)
			if err = errors.Join(err, tc.meanwhile(path)); err != nil {
				t.Fatal(err)
			}
			if err := Replace(path, before, []byte("new")); errors.Is(err, ErrChanged) != tc.changed || !tc.changed &&
				err != nil {
				t.Errorf("error is %v", err)
			}
			after, exists, err := Read(path)
			if string(after.Data) != tc.want || exists != (tc.want != "") || err != nil {
				t.Errorf("it holds %q, %v", after.Data, err)
			}
			if tc.want == "new" && after.Mode != 0o640 {
				t.Errorf("its mode is %v", after.Mode)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, tempNames)); left != nil {
				t.Errorf("left are %v", left)
			}
		})
	}
}
