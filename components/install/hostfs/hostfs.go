// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package hostfs replaces files of a control-plane host so that a reader, a
// crash or a power cut never sees half of one.
package hostfs

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

// File is the content of a file and who may read it.
type File struct {
	Data     []byte
	Mode     fs.FileMode
	UID, GID int
}

// Private is a file for its owner only.
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

// Same reports whether have already is what want asks for.
func Same(have, want File) bool {
	return bytes.Equal(have.Data, want.Data) && have.Mode == want.Mode &&
		(want.UID == KeepOwner || have.UID == want.UID) &&
		(want.GID == KeepOwner || have.GID == want.GID)
}

// Write puts file at path in one step: the bytes are on the disk before the
// name points to them. The temporary file is made in tempDir, or beside path if
// tempDir is empty. Both must be on one file system. The manifests directory of
// a kubelet needs a tempDir elsewhere, for the kubelet runs what it finds there.
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

// Placed is a file and where it belongs.
type Placed struct {
	Path string
	File
}

// WriteTogether replaces files that are read together, one directly after the
// other and in this order, once all their bytes are on the disk. A reader can
// still meet one new and one old, for some microseconds.
func WriteTogether(files ...Placed) error {
	temps := make([]string, 0, len(files))
	defer func() {
		for _, temp := range temps {
			_ = os.Remove(temp) // gone already, unless something failed
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

// tempNames is the pattern of the files that are about to be renamed.
const tempNames = ".bulkhead-*"

// Sweep removes from dir what a process that was killed was writing there.
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

// writeTemp leaves a complete file under a name that no reader knows.
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

// Remove takes the file at path away for good. A file that does not exist is
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

// MakeDir makes the directory path, with its parents, and sets its mode and
// group whatever it was.
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
