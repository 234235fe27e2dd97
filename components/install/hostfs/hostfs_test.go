// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestAReaderNeverSeesHalfAFile(t *testing.T) {
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
			t.Fatalf("%d bytes, %v: neither the one nor the other", len(got), err)
		}
	}
	wg.Wait()
}

func TestWriteLeavesNothingElse(t *testing.T) {
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

func TestAFailedWriteKeepsTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := Write(path, Private([]byte("old")), ""); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, Private([]byte("new")), filepath.Join(dir, "missing")); err == nil {
		t.Fatal("a write without a place for its temporary file succeeds")
	}
	if err := Write(dir, Private([]byte("new")), ""); err == nil {
		t.Fatal("a directory is replaced by a file")
	}
	file, exists, err := Read(path)
	if err != nil || !exists || string(file.Data) != "old" {
		t.Errorf("%q, %v, %v", file.Data, exists, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("a temporary file is left: %v", entries)
	}
}

func TestNewFilesInASetGroupIDDirectoryBelongToItsGroup(t *testing.T) {
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
		{"the same file is the same", have, true},
		{"any owner will do", Private([]byte("x")), true},
		{"other bytes differ", Private([]byte("y")), false},
		{"another mode differs", File{Data: []byte("x"), Mode: 0o640, UID: KeepOwner, GID: KeepOwner}, false},
		{"another owner differs", File{Data: []byte("x"), Mode: 0o600, UID: 0, GID: KeepOwner}, false},
		{"another group differs", File{Data: []byte("x"), Mode: 0o600, UID: KeepOwner, GID: 0}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Same(have, tc.want); got != tc.same {
				t.Errorf("%v, want %v", got, tc.same)
			}
		})
	}
}

func TestWhatIsMissingIsNoError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing")
	if err := Remove(path); err != nil {
		t.Error(err)
	}
	if _, exists, err := Read(path); exists || err != nil {
		t.Errorf("%v, %v", exists, err)
	}
}
