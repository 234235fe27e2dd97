// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// compile builds the suites once, for all calls of Ginkgo.
func (l *lane) compile(ctx context.Context) error {
	return l.timed("compiling the end-to-end suites", func() (count, error) { return count{}, l.works.compile(ctx) })
}

// suiteFile is what makes a folder below e2e/ a suite.
const suiteFile = "suite_test.go"

// findSuites are the names of the suites, in order.
func (r *run) findSuites() ([]string, error) {
	files, err := filepath.Glob(filepath.Join(r.root, "e2e", "*", suiteFile))
	if err == nil && len(files) == 0 {
		err = errors.New("there is none")
	}
	if err != nil {
		return nil, fmt.Errorf("finding the suites below e2e/: %w", err)
	}
	var names []string
	for _, file := range files {
		names = append(names, filepath.Base(filepath.Dir(file)))
	}
	return names, nil
}

func (r *run) compileSuites(ctx context.Context) error {
	names, err := r.findSuites()
	if err != nil {
		return err
	}
	compiled := filepath.Join(r.output, "suites")
	if err := os.MkdirAll(compiled, 0o755); err != nil {
		return err
	}
	args := []string{"go", "test", "-c", "-o", compiled + string(filepath.Separator)}
	for _, name := range names {
		args = append(args, "./e2e/"+name)
	}
	if err := r.command(ctx, args...); err != nil {
		return err
	}
	for _, name := range names {
		if err := link(filepath.Join(compiled, name+".test"), r.compiledSuite(name)); err != nil {
			return err
		}
	}
	return nil
}

// compiledSuite is a link of this process in the suite's folder, where git ignores it: Ginkgo runs a suite
// in the folder that it finds the program in, and specs read files from there.
func (r *run) compiledSuite(name string) string {
	return filepath.Join(r.root, "e2e", name, fmt.Sprintf("testrun-%d.test", os.Getpid()))
}

func link(to, from string) error {
	if err := os.Remove(from); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.Symlink(to, from)
}

// forgetSuites removes the links. The programs stay in _output.
func (r *run) forgetSuites() {
	names, err := r.findSuites()
	if err != nil {
		return
	}
	for _, name := range names {
		_ = os.Remove(r.compiledSuite(name))
	}
}
