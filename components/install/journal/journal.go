// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package journal records what an installer changes on a host, so that the change can be rolled
// back. The installer rolls back when a step fails, or in the next run after a crash.
//
// The journal writes the old state to the disk before anything changes.
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

// Kind is the type of thing that an entry records.
type Kind string

const (
	// KindFile is a file that was written or removed.
	KindFile Kind = "file"
	// KindDir is a directory that did not exist before. A rollback removes it with its content.
	KindDir Kind = "directory"
	// KindObject is an API object. Only the caller can restore it.
	KindObject Kind = "object"
)

// Entry records one file, directory or object that was changed.
type Entry struct {
	Kind Kind `json:"kind"`
	// Name is the path of a file or directory, or the name of an object.
	Name string `json:"name"`
	// Backup is the name of the file with the old content. It is empty if there was no old content.
	Backup string      `json:"backup,omitempty"`
	Mode   fs.FileMode `json:"mode,omitempty"`
	UID    int         `json:"uid,omitempty"`
	GID    int         `json:"gid,omitempty"`
	// Written has the hashes of all content that this change wrote. Any content that is neither one
	// of them nor the backup is a later edit by another program or person.
	Written []string `json:"written,omitempty"`
}

// Hash returns the SHA-256 of data in hexadecimal.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Wrote reports whether this change wrote data.
func (e Entry) Wrote(data []byte) bool { return slices.Contains(e.Written, Hash(data)) }

// Journal records one change that has begun and not ended.
type Journal struct {
	dir string
	// Operation describes the change in a few words.
	Operation string `json:"operation"`
	// Entries are in the order of the changes.
	Entries []Entry `json:"entries"`
}

// Begin starts a journal in dir. If it fails, End removes what it has made.
func Begin(dir, operation string) (*Journal, error) {
	j := &Journal{dir: dir, Operation: operation}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return j, err
	}
	return j, j.save()
}

// Open returns the journal that an interrupted run left in dir. It returns nil if there is none.
func Open(dir string) (*Journal, error) {
	data, err := os.ReadFile(filepath.Join(dir, indexName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	j := &Journal{dir: dir}
	if err == nil {
		err = json.Unmarshal(data, j)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the journal of an interrupted run in %s: %w", dir, err)
	}
	return j, nil
}

// End deletes the journal, because the change is complete or rolled back.
func (j *Journal) End() error {
	// The index is removed first. Without the index, the other files have no meaning.
	if err := atomicfile.Remove(filepath.Join(j.dir, indexName)); err != nil {
		return err
	}
	return os.RemoveAll(j.dir)
}

// Touched reports whether the journal has an entry with this name.
func (j *Journal) Touched(name string) bool {
	return slices.ContainsFunc(j.Entries, func(e Entry) bool { return e.Name == name })
}

// Added reports whether the journal has an entry with this name for something that did not exist
// before.
func (j *Journal) Added(name string) bool {
	return slices.ContainsFunc(j.Entries, func(e Entry) bool { return e.Name == name && e.Backup == "" })
}

// WriteFile writes a file, unless the file already has this content. It reports whether it wrote.
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

// RemoveFile removes a file if it exists. It reports whether it removed one.
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

// NewDir creates a directory. If the directory is new, the journal records it.
func (j *Journal) NewDir(path string, mode fs.FileMode, gid int) error {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := j.add(Entry{Kind: KindDir, Name: path}); err != nil {
			return err
		}
	}
	return atomicfile.MakeDir(path, mode, gid)
}

// NewFile records that another program is about to create a file. It records nothing if the file
// already exists.
func (j *Journal) NewFile(path string) error {
	_, exists, err := atomicfile.Read(path)
	if err != nil || exists {
		return err
	}
	return j.remember(path, atomicfile.File{}, false)
}

// Object records that an API object is about to change. before is its old state, or nil if it did
// not exist.
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

// Wrote records the content that an entry's file or object is about to have, or has now.
func (j *Journal) Wrote(name string, data []byte) error {
	for i := range j.Entries {
		if e := &j.Entries[i]; e.Name == name && !e.Wrote(data) {
			e.Written = append(e.Written, Hash(data))
		}
	}
	return j.save()
}

// Before returns the old content of an entry's object or file. It returns nil if there was none.
func (j *Journal) Before(e Entry) ([]byte, error) {
	if e.Backup == "" {
		return nil, nil
	}
	return os.ReadFile(filepath.Join(j.dir, e.Backup))
}

// Restore restores the old state of a file or directory. It needs no disk space: a full disk may be
// the reason for the rollback.
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

// remember saves the state of a file before its first change.
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

// add saves an entry before its change. If it cannot save the entry, it returns an error and drops the
// entry: the caller then makes no change.
func (j *Journal) add(e Entry) error {
	j.Entries = append(j.Entries, e)
	err := j.save()
	if err != nil {
		j.Entries = j.Entries[:len(j.Entries)-1]
	}
	return err
}

func (j *Journal) save() error {
	data, err := json.MarshalIndent(j, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(j.dir, indexName), atomicfile.Private(data), "")
}
