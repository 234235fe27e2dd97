// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crl

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/revocationlist"
)

const (
	maxFiles = 64
	// maxBytes bounds all files together. A list of 200,000 certificates has about 8 MiB, and takes
	// several times that memory while it is parsed.
	maxBytes = 8 << 20
)

// read reads files, and the files of folders, of at most room bytes together. A file that cannot be
// read is only in failed.
func read(room int, paths ...string) (files map[string][]byte, failed map[string]error, err error) {
	var names []string
	for _, path := range paths {
		found, err := namesIn(path)
		if err != nil {
			return nil, nil, err
		}
		names = append(names, found...)
	}
	files, failed = map[string][]byte{}, map[string]error{}
	for _, name := range names {
		data, err := readFile(name, room)
		if err != nil {
			failed[name] = err
			continue
		}
		room -= len(data)
		files[name] = data
	}
	return files, failed, nil
}

func namesIn(path string) ([]string, error) {
	about, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !about.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		// A ConfigMap volume keeps its versions in folders whose names begin with a dot.
		if !entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") && entry.Name() != revocationlist.IDsKey {
			names = append(names, filepath.Join(path, entry.Name()))
		}
	}
	if len(names) > maxFiles {
		return nil, fmt.Errorf("folder %s has %d files, want at most %d", path, len(names), maxFiles)
	}
	return names, nil
}

// readFile opens only regular files, because opening a pipe would block.
func readFile(path string, room int) ([]byte, error) {
	about, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !about.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	data, err := io.ReadAll(io.LimitReader(file, int64(room)+1))
	if err != nil {
		return nil, err
	}
	if len(data) > room {
		return nil, fmt.Errorf("the files together are larger than the limit, of which %d bytes are left", room)
	}
	return data, nil
}
