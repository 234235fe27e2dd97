// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package atomicfile replaces files atomically. A reader sees the old file or the new one, never a
// part of one, also after a crash or a power failure.
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

// KeepOwner as a UID or GID keeps the owner that the kernel gives a new file. In a directory with
// the set-group-ID bit, the file inherits the group of the directory.
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

// Read returns the file at path. If the file does not exist, exists is false and err is nil.
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

// Exists reports whether there is anything at path. If it cannot find out, it returns true.
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

// Write writes file to path atomically. The bytes are on the disk before the rename to path. The
// temporary file is created in tempDir, or in the directory of path if tempDir is empty. Both must
// be on one file system. A kubelet runs every manifest that it finds, so its manifests directory
// needs a tempDir elsewhere.
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

// ErrChanged means that a file has changed since it was read.
var ErrChanged = errors.New("another process has changed it meanwhile")

// Replace replaces the data of a file that was read before, as [Write] does. It keeps the mode and
// owner of the file. If the file has changed since it was read, Replace does not change it and
// returns [ErrChanged].
//
// The comparison and the rename are two steps. If another process renames a file to path in the
// microseconds between them, that file is overwritten.
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

// Link hard-links the file saved to path atomically, with the mode and owner of file. It copies no
// data. saved stays in place, so that the caller can repeat Link after a crash. Both must be on one
// file system.
func Link(saved, path string, file File) error {
	// Chown before chmod: chown may clear mode bits.
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
	// If path was already the same file, rename leaves temp in place.
	defer func() { _ = os.Remove(temp) }()
	if err := os.Rename(temp, path); err != nil {
		return fmt.Errorf("restoring %s: %w", path, err)
	}
	return syncDir(filepath.Dir(path))
}

// Placed is a file with its path.
type Placed struct {
	Path string
	File
}

// WriteTogether replaces files that programs read together. It first writes the bytes of all files,
// and then renames them in the given order. For some microseconds a reader can see one new and one
// old file.
func WriteTogether(files ...Placed) error {
	temps := make([]string, 0, len(files))
	defer func() {
		for _, temp := range temps {
			_ = os.Remove(temp) // fails after success, because the file was renamed
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
	if _, err := write(temp, file.Data); err != nil {
		return "", err
	}
	// Chown before chmod: chown may clear mode bits.
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

// Remove removes the file at path. The removal survives a power failure. If the file does not
// exist, Remove returns nil.
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

// RemoveAll removes the files as [Remove] does. changed is true if one of them existed.
func RemoveAll(paths ...string) (changed bool, err error) {
	for _, path := range paths {
		changed = changed || Exists(path)
		if err := Remove(path); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// MakeDir creates the directory path with its parents. It sets mode and group, also if the
// directory already exists.
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

// syncDir makes a rename or a removal in dir survive a power failure.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
