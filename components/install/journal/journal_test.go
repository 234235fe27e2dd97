// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestJournalOfAKilledRunRestoresEverything writes with one journal. It restores with
// another journal, read from the disk, as after a crash.
func TestJournalOfAKilledRunRestoresEverything(t *testing.T) {
	dir, root := filepath.Join(t.TempDir(), "journal"), t.TempDir()
	old, added := filepath.Join(root, "old"), filepath.Join(root, "new", "file")
	must(t, os.WriteFile(old, []byte("before"), 0o640))

	j, err := Begin(dir, "test")
	must(t, err)
	must(t, j.NewDir(filepath.Dir(added), 0o700, atomicfile.KeepOwner))
	for _, path := range []string{old, added, old} { // old is written twice: the journal keeps its first content
		_, err := j.WriteFile(path, atomicfile.Private([]byte("after "+path)))
		must(t, err)
	}
	must(t, j.Object("config", []byte("object before")))

	left, err := Open(dir)
	must(t, err)
	if left.Operation != "test" || len(left.Entries) != 4 {
		t.Errorf("operation %q, entries %v", left.Operation, left.Entries)
	}
	for _, e := range slices.Backward(left.Entries) {
		if e.Kind == KindObject {
			if before, err := left.Before(e); err != nil || string(before) != "object before" {
				t.Errorf("object was %q, %v", before, err)
			}
		}
		must(t, left.Restore(e))
	}
	file, _, err := atomicfile.Read(old)
	must(t, err)
	if string(file.Data) != "before" || file.Mode != 0o640 {
		t.Errorf("%q, mode %v", file.Data, file.Mode)
	}
	if entries, err := os.ReadDir(root); err != nil || len(entries) != 1 {
		t.Errorf("left over: %v, %v", entries, err)
	}
	must(t, left.End())
	if j, err := Open(dir); j != nil || err != nil {
		t.Errorf("after its end there is still %v, %v", j, err)
	}
}

func TestUnchangedFilesAreNotWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	j, err := Begin(filepath.Join(t.TempDir(), "journal"), "test")
	must(t, err)
	for _, want := range []bool{true, false} {
		if changed, err := j.WriteFile(path, atomicfile.Private([]byte("x"))); err != nil || changed != want {
			t.Errorf("changed %v, want %v (%v)", changed, want, err)
		}
	}
	if len(j.Entries) != 1 {
		t.Errorf("entries: %v", j.Entries)
	}
}

func TestABrokenJournalIsAnErrorNotAnAbsentOne(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, indexName), []byte("{"), 0o600))
	if j, err := Open(dir); err == nil {
		t.Errorf("it reads as %v", j)
	}
}

// TestRestoringNeedsNoSpace restores on a disk that has become full.
func TestRestoringNeedsNoSpace(t *testing.T) {
	dir, path := filepath.Join(t.TempDir(), "journal"), filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(path, []byte("before"), 0o640))
	j, err := Begin(dir, "test")
	must(t, err)
	_, err = j.WriteFile(path, atomicfile.Private([]byte("after")))
	must(t, err)
	for range 2 { // a restore can be repeated after a crash
		must(t, j.Restore(j.Entries[0]))
		saved, err := os.Stat(filepath.Join(dir, j.Entries[0].Backup))
		must(t, err)
		restored, err := os.Stat(path)
		must(t, err)
		if !os.SameFile(saved, restored) || restored.Mode() != 0o640 {
			t.Errorf("it was copied, or has mode %v", restored.Mode())
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("the journal holds %v, %v", entries, err)
	}
}

func TestJournalEntryRecordsWrittenContent(t *testing.T) {
	dir, path := t.TempDir(), filepath.Join(t.TempDir(), "file")
	j, err := Begin(dir, "test")
	must(t, err)
	for _, text := range []string{"first", "second"} {
		_, err := j.WriteFile(path, atomicfile.Private([]byte(text)))
		must(t, err)
	}
	must(t, j.Object("object", []byte("before")))
	must(t, j.Wrote("object", []byte("third")))
	left, err := Open(dir)
	must(t, err)
	for i, want := range [][]string{{"first", "second"}, {"third"}} {
		var got []string
		for _, text := range []string{"before", "first", "second", "third"} {
			if left.Entries[i].Wrote([]byte(text)) {
				got = append(got, text)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", left.Entries[i].Name, got, want)
		}
	}
}

func TestEntryThatCannotBeSavedIsNotInTheJournal(t *testing.T) {
	j, err := Begin(t.TempDir(), "test")
	must(t, err)
	full := errors.New("no space left on device")
	t.Cleanup(atomicfile.OnWrite(func() error { return full }))
	path := filepath.Join(t.TempDir(), "file")
	if _, err := j.WriteFile(path, atomicfile.Private([]byte("x"))); !errors.Is(err, full) {
		t.Errorf("error is %v", err)
	}
	if j.Touched(path) || atomicfile.Exists(path) {
		t.Errorf("entries are %v; the file exists: %v", j.Entries, atomicfile.Exists(path))
	}
}
