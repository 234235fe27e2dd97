// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// runner is the name of the Ginkgo program in the archive. All other files are suites.
const runner = "ginkgo"

// suiteSuffix ends the names of compiled suites.
const suiteSuffix = ".test"

// unpack writes the runner and the suites from the program's own archive to the directory. It
// returns the names of the suites, sorted.
func unpack(program, dir string) ([]string, error) {
	archive, err := zip.OpenReader(program)
	if err != nil {
		return nil, fmt.Errorf("cannot read the suites in %s: %w; build the program with make conformance",
			program, err)
	}
	defer archive.Close() //nolint:errcheck // it was only read
	var suites []string
	for _, file := range archive.File {
		name := filepath.Base(file.Name)
		if err := extract(file, filepath.Join(dir, name)); err != nil {
			return nil, fmt.Errorf("cannot unpack %s to %s: %w; set TMPDIR to a directory with 600 MB where programs may run",
				name, dir, err)
		}
		if suite, ok := strings.CutSuffix(name, suiteSuffix); ok {
			suites = append(suites, suite)
		}
	}
	slices.Sort(suites)
	return suites, nil
}

func extract(file *zip.File, path string) (err error) {
	from, err := file.Open()
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // it was only read
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from) //nolint:gosec // the archive is part of this program
	return errors.Join(err, to.Close())
}
