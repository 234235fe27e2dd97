// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// suitesDir is the directory of the Ginkgo program and the suites in the archive. A suite finds files
// of the repository beside it, as it does in the repository.
const suitesDir = "e2e/suites"

// runner is the name of the Ginkgo program.
const runner = "ginkgo"

// suiteSuffix ends the names of compiled suites.
const suiteSuffix = ".test"

// unpack writes the files in the program's own archive to the directory. It returns the names of the
// suites, sorted.
func unpack(program, dir string) ([]string, error) {
	archive, err := zip.OpenReader(program)
	if err != nil {
		return nil, fmt.Errorf("cannot read the suites in %s: %w; build the program with make conformance", program, err)
	}
	defer archive.Close() //nolint:errcheck // it was only read
	if err := os.CopyFS(dir, archive); err != nil {
		return nil, fmt.Errorf("cannot unpack the suites to %s: %w; set TMPDIR to a directory with 400 MB where programs "+
			"may run", dir, err)
	}
	files, err := filepath.Glob(filepath.Join(dir, suitesDir, "*"+suiteSuffix))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("cannot find a suite in %s: build the program with make conformance", program)
	}
	var suites []string
	for _, file := range files {
		suites = append(suites, strings.TrimSuffix(filepath.Base(file), suiteSuffix))
	}
	return suites, nil
}
