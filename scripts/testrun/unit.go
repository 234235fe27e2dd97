// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/kind/host"
)

// race switches the race detector on, which is cgo.
const race = "-race"

// unit is every test that needs no cluster.
func unit(ctx context.Context, l *lane) error {
	return errors.Join(tests(ctx, l), l.timed(fuzzed, func() (count, error) { return fuzzAll(ctx, l.root, modules, l.out, allProcessors()) }))
}

// tests are those that know neither a cluster nor a fuzzer.
func tests(ctx context.Context, l *lane) error {
	if err := host.Install(ctx, l.out, map[string]string{"gcc": "gcc libc6-dev"}); err != nil {
		return err
	}
	// They know no cluster.
	if err := os.Unsetenv("E2E_KUBECONFIG"); err != nil {
		return err
	}
	err := l.timed("unit tests, with the race detector", func() (count, error) {
		return goTest(ctx, l.out, l.root, race, "-timeout=15m", "./...")
	})
	// Millions of questions, one after the other: the race detector would find
	// nothing in them and take ten times as long.
	for _, module := range modules[1:] {
		err = errors.Join(err, l.timed("against upstream's own code: "+module, func() (count, error) {
			return goTest(ctx, l.out, filepath.Join(l.root, module), "-timeout=10m", "./...")
		}))
	}
	return err
}

// event is a line of `go test -json`, described in `go doc test2json`.
type event struct {
	Action, Package, Test, Output, ImportPath string
}

// goTest counts every test and subtest. What failed is printed in full, and of
// what was skipped the reason.
func goTest(ctx context.Context, said io.Writer, dir string, args ...string) (count, error) {
	cmd := polite(ctx, append([]string{"go", "test", "-json"}, args...)...)
	cmd.Dir, cmd.Stderr, cmd.Env = dir, said, os.Environ()
	if slices.Contains(args, race) {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=1")
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return count{}, err
	}
	if err := startPolitely(cmd); err != nil {
		return count{}, err
	}
	counted, readErr := countEvents(out, said)
	waitErr := cmd.Wait()
	if counted.failed > 0 {
		waitErr = nil // said already
	}
	return counted, errors.Join(readErr, waitErr)
}

// countEvents counts the tests that have no subtests, and a package that fails
// without a test of its own that does.
func countEvents(in io.Reader, out io.Writer) (count, error) {
	ends := map[test]string{}
	said := map[test]*strings.Builder{}
	decoder := json.NewDecoder(in)
	for {
		var e event
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			return countEnds(ends), nil
		} else if err != nil {
			return countEnds(ends), fmt.Errorf("reading what go test says: %w", err)
		}
		key := test{e.Package + e.ImportPath, e.Test}
		if said[key] == nil {
			said[key] = &strings.Builder{}
		}
		switch e.Action {
		case "output", "build-output":
			said[key].WriteString(e.Output)
		case "pass", "fail", "build-fail", "skip":
			ends[key] = strings.TrimPrefix(e.Action, "build-")
			if e.Action != "pass" && (e.Action != "skip" || e.Test != "") {
				fmt.Fprintf(out, "--- %s %s %s\n%s", strings.ToUpper(ends[key]), key.pkg, key.name, said[key])
			}
			delete(said, key)
		}
	}
}

// test is a test of a package, or with an empty name the package itself.
type test struct{ pkg, name string }

func countEnds(ends map[test]string) count {
	parents, failed := map[test]bool{}, map[string]bool{}
	for t, end := range ends {
		for i, c := range t.name {
			if c == '/' {
				parents[test{t.pkg, t.name[:i]}] = true
			}
		}
		if t.name != "" && end == "fail" {
			failed[t.pkg] = true
		}
	}
	var counted count
	for t, end := range ends {
		switch {
		case t.name == "" && end == "fail" && !failed[t.pkg]:
			counted.failed++
		case t.name == "":
		case end == "fail" && (!parents[t] || !childFailed(ends, t)):
			counted.failed++
		case parents[t]:
		case end == "pass":
			counted.passed++
		case end == "skip":
			counted.skipped++
		}
	}
	return counted
}

// childFailed says whether a subtest's failure is why its parent failed.
func childFailed(ends map[test]string, parent test) bool {
	for t, end := range ends {
		if t.pkg == parent.pkg && end == "fail" && strings.HasPrefix(t.name, parent.name+"/") {
			return true
		}
	}
	return false
}
