// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
)

// fuzzPackage is a folder with functions for the fuzzer.
type fuzzPackage struct {
	folder  string
	targets []string
}

// fuzzPackages reads the tests of a module: `go test -list` would link each of them, which
// takes longer than to fuzz.
func fuzzPackages(module string) ([]fuzzPackage, error) {
	var packages []fuzzPackage
	err := filepath.WalkDir(module, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != module && (isModule(path) || strings.HasPrefix(entry.Name(), "_") || strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		names, err := fuzzFunctions(path)
		if err != nil || len(names) == 0 {
			return err
		}
		// The files of a folder come one after the other, but what is below it may come
		// between.
		folder := filepath.Dir(path)
		for i := range packages {
			if packages[i].folder == folder {
				packages[i].targets = append(packages[i].targets, names...)
				return nil
			}
		}
		packages = append(packages, fuzzPackage{folder, names})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("finding the fuzz targets: %w", err)
	}
	return packages, nil
}

func isModule(folder string) bool {
	found, err := filepath.Glob(filepath.Join(folder, "go.mod"))
	return err == nil && len(found) > 0
}

// fuzzFunctions are those of a file whose names begin as the fuzzer wants them to.
func fuzzFunctions(file string) ([]string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, decl := range parsed.Decls {
		if f, is := decl.(*ast.FuncDecl); is && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") {
			names = append(names, f.Name.Name)
		}
	}
	return names, nil
}
