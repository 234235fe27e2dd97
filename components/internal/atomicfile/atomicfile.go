// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package atomicfile replaces files in one step. A reader, a crash or a power cut sees the
// old file or the new one, never a part of one.
package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// KeepOwner as a UID or GID leaves what the kernel gives a new file, so that
// the group of a set-group-ID directory is inherited.
const KeepOwner = -1

// File is the content of a file, its mode and its owner.
type File struct {
	Data     []byte
	Mode     fs.FileMode
	UID, GID int
}

// Private returns a file that only its owner may read.
func Private(data []byte) File {
	return File{Data: data, Mode: 0o600, UID: KeepOwner, GID: KeepOwner}
}

// Read returns the file at path. A file that does not exist is no error.
func Read(path string) (file File, exists bool, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return File{}, false, nil
	}
	if err != nil {
		return File{}, false, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return File{}, false, err
	}
	file = File{Data: data, Mode: info.Mode().Perm(), UID: KeepOwner, GID: KeepOwner}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		file.UID, file.GID = int(stat.Uid), int(stat.Gid)
	}
	return file, true, nil
}

// Exists reports whether there is anything at path. It is true if that cannot be found out.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// Same reports whether have has the content, mode and owner of want.
func Same(have, want File) bool {
	return bytes.Equal(have.Data, want.Data) && have.Mode == want.Mode &&
		(want.UID == KeepOwner || have.UID == want.UID) &&
		(want.GID == KeepOwner || have.GID == want.GID)
}

// Write puts file at path in one step: the bytes are on the disk before the name points to
// them. The temporary file is made in tempDir, or beside path if tempDir is empty. Both must
// be on one file system. A kubelet runs every manifest that it finds, so its manifests
// directory needs a tempDir elsewhere.
func Write(path string, file File, tempDir string) error {
	if tempDir == "" {
		tempDir = filepath.Dir(path)
	}
	temp, err := writeTemp(tempDir, file)
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Rename(temp, path); err != nil {
		_ = os.Remove(temp)
		if errors.Is(err, syscall.EXDEV) {
			return fmt.Errorf("writing %s: it is on another file system than %s, so it cannot be replaced in one step", path,
				tempDir)
		}
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return syncDir(filepath.Dir(path))
}

// ErrChanged says that a file has changed since it was read.
var ErrChanged = errors.New("another process has changed it meanwhile")

// Replace replaces the data of a file that was read before, as [Write] does, and keeps its
// mode and owner. If the file has changed since, it stays as it is, and the error is
// [ErrChanged].
//
// The comparison and the rename are two steps. A file that another process renames to path in
// the microseconds between them is overwritten.
func Replace(path string, before File, data []byte) error {
	temp, err := writeTemp(filepath.Dir(path), File{Data: data, Mode: before.Mode, UID: before.UID, GID: before.GID})
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	now, exists, err := Read(path)
	if err == nil && (!exists || !Same(now, before)) {
		err = ErrChanged
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		_ = os.Remove(temp)
		return fmt.Errorf("replacing %s: %w", path, err)
	}
	return syncDir(filepath.Dir(path))
}

// Link puts the file saved at path in one step, with the mode and owner of file
// and without copying a byte; saved stays, so that a crash can be repeated. Both
// must be on one file system.
func Link(saved, path string, file File) error {
	// Ownership first: changing it may clear mode bits.
	if err := os.Chown(saved, file.UID, file.GID); err != nil {
		return err
	}
	if err := os.Chmod(saved, file.Mode); err != nil {
		return err
	}
	temp := saved + ".link"
	if err := Remove(temp); err != nil {
		return err
	}
	if err := os.Link(saved, temp); err != nil {
		return err
	}
	// Left there if path was this very file already.
	defer func() { _ = os.Remove(temp) }()
	if err := os.Rename(temp, path); err != nil {
		return fmt.Errorf("restoring %s: %w", path, err)
	}
	return syncDir(filepath.Dir(path))
}

// Placed is a file and its path.
type Placed struct {
	Path string
	File
}

// WriteTogether replaces files that are read together. It writes the bytes of all of them
// first, and then renames them in this order. For some microseconds a reader can see one new
// and one old file.
func WriteTogether(files ...Placed) error {
	temps := make([]string, 0, len(files))
	defer func() {
		for _, temp := range temps {
			_ = os.Remove(temp) // does not exist any more unless a step failed
		}
	}()
	for _, f := range files {
		temp, err := writeTemp(filepath.Dir(f.Path), f.File)
		if err != nil {
			return fmt.Errorf("writing %s: %w", f.Path, err)
		}
		temps = append(temps, temp)
	}
	for i, f := range files {
		if err := os.Rename(temps[i], f.Path); err != nil {
			return fmt.Errorf("writing %s: %w", f.Path, err)
		}
	}
	for _, f := range files {
		if err := syncDir(filepath.Dir(f.Path)); err != nil {
			return err
		}
	}
	return nil
}

// tempNames is the pattern of the temporary files.
const tempNames = ".bulkhead-*"

// Sweep removes the temporary files that a killed process left in dir.
func Sweep(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, tempNames))
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// writeTemp writes a complete file under a temporary name.
func writeTemp(dir string, file File) (name string, err error) {
	temp, err := os.CreateTemp(dir, tempNames)
	if err != nil {
		return "", err
	}
	defer func() {
		err = errors.Join(err, temp.Close())
		if err != nil {
			_ = os.Remove(temp.Name())
		}
	}()
	if _, err := temp.Write(file.Data); err != nil {
		return "", err
	}
	// Ownership first: changing it may clear mode bits.
	if file.UID != KeepOwner || file.GID != KeepOwner {
		if err := temp.Chown(file.UID, file.GID); err != nil {
			return "", err
		}
	}
	if err := temp.Chmod(file.Mode); err != nil {
		return "", err
	}
	return temp.Name(), temp.Sync()
}

// Remove removes the file at path, also across a power cut. A file that does not exist is
// no error.
func Remove(path string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// MakeDir makes the directory path, with its parents, and sets its mode and group, also if
// it existed before.
func MakeDir(path string, mode fs.FileMode, gid int) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	if gid != KeepOwner {
		if err := os.Chown(path, KeepOwner, gid); err != nil {
			return err
		}
	}
	return os.Chmod(path, mode)
}

// syncDir makes a rename or a removal in dir survive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
