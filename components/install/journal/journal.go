// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package journal remembers what a change of a host has touched, so that it can
// be taken back: at once when a step fails, or by the next run after a crash.
//
// What was there is saved, and on the disk, before anything is changed.
package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

const indexName = "journal.json"

// Kind says what an entry is about.
type Kind string

const (
	// KindFile is a file that was written or removed.
	KindFile Kind = "file"
	// KindDir is a directory that did not exist before; it goes with all that is in it.
	KindDir Kind = "directory"
	// KindObject is something in the API; only its owner knows how to take it back.
	KindObject Kind = "object"
)

// Entry is one thing that was touched.
type Entry struct {
	Kind Kind `json:"kind"`
	// Name is the path of a file or directory, or the name of an object.
	Name string `json:"name"`
	// Backup is the file with what was there. Empty: there was nothing.
	Backup string      `json:"backup,omitempty"`
	Mode   fs.FileMode `json:"mode,omitempty"`
	UID    int         `json:"uid,omitempty"`
	GID    int         `json:"gid,omitempty"`
	// Written are the hashes of what this change has put there. Content that is
	// neither one of them nor the backup is somebody else's later work.
	Written []string `json:"written,omitempty"`
}

// Hash is the SHA-256 of data, in hexadecimal.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Wrote reports whether data is what this change has put there.
func (e Entry) Wrote(data []byte) bool { return slices.Contains(e.Written, Hash(data)) }

// Journal is one change that has begun and not ended.
type Journal struct {
	dir string
	// Operation says in a few words what was being done.
	Operation string `json:"operation"`
	// Entries are in the order in which things were touched.
	Entries []Entry `json:"entries"`
}

// Begin starts a journal in dir, which must not hold another.
func Begin(dir, operation string) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	j := &Journal{dir: dir, Operation: operation}
	return j, j.save()
}

// Open returns the journal that an interrupted run left in dir, or nil.
func Open(dir string) (*Journal, error) {
	data, err := os.ReadFile(filepath.Join(dir, indexName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	j := &Journal{dir: dir}
	if err := json.Unmarshal(data, j); err != nil {
		return nil, fmt.Errorf("reading %s: %w", filepath.Join(dir, indexName), err)
	}
	return j, nil
}

// End forgets the journal: the change is complete, or taken back.
func (j *Journal) End() error {
	// The index goes first: without it the rest means nothing.
	if err := atomicfile.Remove(filepath.Join(j.dir, indexName)); err != nil {
		return err
	}
	return os.RemoveAll(j.dir)
}

// Touched reports whether the journal has an entry of that name.
func (j *Journal) Touched(name string) bool {
	return slices.ContainsFunc(j.Entries, func(e Entry) bool { return e.Name == name })
}

// Added reports whether the journal has an entry for something that did not exist before.
func (j *Journal) Added(name string) bool {
	return slices.ContainsFunc(j.Entries, func(e Entry) bool { return e.Name == name && e.Backup == "" })
}

// WriteFile writes a file unless it is there already, and says whether it did.
func (j *Journal) WriteFile(path string, file atomicfile.File) (changed bool, err error) {
	have, exists, err := atomicfile.Read(path)
	if err != nil {
		return false, err
	}
	if exists && atomicfile.Same(have, file) {
		return false, nil
	}
	if err := j.remember(path, have, exists); err != nil {
		return false, err
	}
	if err := j.Wrote(path, file.Data); err != nil {
		return false, err
	}
	return true, atomicfile.Write(path, file, j.dir)
}

// RemoveFile takes a file away, if it is there, and says whether it did.
func (j *Journal) RemoveFile(path string) (changed bool, err error) {
	have, exists, err := atomicfile.Read(path)
	if err != nil || !exists {
		return false, err
	}
	if err := j.remember(path, have, true); err != nil {
		return false, err
	}
	return true, atomicfile.Remove(path)
}

// NewDir makes a directory and remembers whether it is new.
func (j *Journal) NewDir(path string, mode fs.FileMode, gid int) error {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := j.add(Entry{Kind: KindDir, Name: path}); err != nil {
			return err
		}
	}
	return atomicfile.MakeDir(path, mode, gid)
}

// NewFile notes that a file, unless it is there already, is about to be made by
// other means.
func (j *Journal) NewFile(path string) error {
	_, exists, err := atomicfile.Read(path)
	if err != nil || exists {
		return err
	}
	return j.remember(path, atomicfile.File{}, false)
}

// Object notes that an API object is about to be changed; before is what it
// was, nil if it did not exist.
func (j *Journal) Object(name string, before []byte) error {
	entry := Entry{Kind: KindObject, Name: name}
	if before != nil {
		backup, err := j.saveBackup(before)
		if err != nil {
			return err
		}
		entry.Backup = backup
	}
	return j.add(entry)
}

// Wrote notes what an entry's file or object is about to become, or has become.
func (j *Journal) Wrote(name string, data []byte) error {
	for i := range j.Entries {
		if e := &j.Entries[i]; e.Name == name && !e.Wrote(data) {
			e.Written = append(e.Written, Hash(data))
		}
	}
	return j.save()
}

// Before returns what an entry's object or file was, nil if it did not exist.
func (j *Journal) Before(e Entry) ([]byte, error) {
	if e.Backup == "" {
		return nil, nil
	}
	return os.ReadFile(filepath.Join(j.dir, e.Backup))
}

// Restore puts a file or directory back to what it was. It needs no space for
// that: the disk may be full by now, and that may be why.
func (j *Journal) Restore(e Entry) error {
	switch {
	case e.Kind == KindDir:
		return os.RemoveAll(e.Name)
	case e.Kind == KindFile && e.Backup == "":
		return atomicfile.Remove(e.Name)
	case e.Kind == KindFile:
		return atomicfile.Link(filepath.Join(j.dir, e.Backup), e.Name, atomicfile.File{Mode: e.Mode, UID: e.UID, GID: e.GID})
	}
	return nil
}

// remember saves a file's state, the first time it is touched.
func (j *Journal) remember(path string, have atomicfile.File, exists bool) error {
	for _, e := range j.Entries {
		if e.Kind == KindFile && e.Name == path {
			return nil
		}
	}
	entry := Entry{Kind: KindFile, Name: path}
	if exists {
		backup, err := j.saveBackup(have.Data)
		if err != nil {
			return err
		}
		entry.Backup, entry.Mode, entry.UID, entry.GID = backup, have.Mode, have.UID, have.GID
	}
	return j.add(entry)
}

func (j *Journal) saveBackup(data []byte) (string, error) {
	name := "before-" + strconv.Itoa(len(j.Entries))
	return name, atomicfile.Write(filepath.Join(j.dir, name), atomicfile.Private(data), "")
}

func (j *Journal) add(e Entry) error {
	j.Entries = append(j.Entries, e)
	return j.save()
}

func (j *Journal) save() error {
	data, err := json.MarshalIndent(j, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(j.dir, indexName), atomicfile.Private(data), "")
}
