// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is a file in an archive.
type entry struct {
	// name is the path in the archive, and path the file to read.
	name, path string
	mode       int64
}

// writeTar writes the files as a tar archive. The archive depends only on the names, modes and
// content of the files and on modified: it has no owner, and the files are sorted by name.
func writeTar(out io.Writer, modified time.Time, entries []entry) error {
	archive := tar.NewWriter(out)
	sorted := slices.SortedFunc(slices.Values(entries), func(a, b entry) int { return strings.Compare(a.name, b.name) })
	for _, e := range sorted {
		if err := writeEntry(archive, modified, e); err != nil {
			return fmt.Errorf("cannot add %s to an archive: %w", e.path, err)
		}
	}
	return archive.Close()
}

func writeEntry(archive *tar.Writer, modified time.Time, e entry) error {
	file, err := os.Open(e.path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	err = archive.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: e.name, Size: info.Size(), Mode: e.mode, ModTime: modified.UTC(),
		Format: tar.FormatUSTAR,
	})
	if err != nil {
		return err
	}
	_, err = io.Copy(archive, file)
	return err
}

// tarFile writes a tar archive to a file.
func tarFile(path string, modified time.Time, entries []entry) error {
	return writeFile(path, func(out io.Writer) error { return writeTar(out, modified, entries) })
}

// tarGzFile is [tarFile] with compression. The header of gzip has no name and no time.
func tarGzFile(path string, modified time.Time, entries []entry) error {
	return writeFile(path, func(out io.Writer) error {
		compressed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
		if err != nil {
			return err
		}
		return errors.Join(writeTar(compressed, modified, entries), compressed.Close())
	})
}

func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// folderEntries returns all files below a folder, with names relative to it.
func folderEntries(folder string) ([]entry, error) {
	var entries []entry
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		entries = append(entries, entry{name: filepath.ToSlash(name), path: path, mode: 0o644})
		return err
	})
	return entries, err
}
