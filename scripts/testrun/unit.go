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
	"os/exec"
	"regexp"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/kind/host"
)

// fuzzTime is how long each fuzz target runs beyond its seeds.
const fuzzTime = "10s"

func unit(ctx context.Context, r *run) error {
	// The race detector is cgo; and unit tests know no cluster.
	if err := host.Install(ctx, os.Stdout, map[string]string{"gcc": "gcc libc6-dev"}); err != nil {
		return err
	}
	if err := os.Unsetenv("E2E_KUBECONFIG"); err != nil {
		return err
	}
	err := r.timed("unit tests, with the race detector", func() (count, error) {
		return goTest(ctx, r.root, "-race", "-timeout=5m", "./...")
	})
	targets, findErr := fuzzTargets(ctx, r.root)
	err = errors.Join(err, findErr)
	for _, target := range targets {
		err = errors.Join(err, r.timed("fuzz "+target.name+", "+fuzzTime, func() (count, error) {
			return fuzz(ctx, r.root, target)
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
func goTest(ctx context.Context, dir string, args ...string) (count, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	cmd.Dir, cmd.Stderr, cmd.Env = dir, os.Stderr, append(os.Environ(), "CGO_ENABLED=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return count{}, err
	}
	if err := cmd.Start(); err != nil {
		return count{}, err
	}
	counted, readErr := countEvents(out, os.Stdout)
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

type fuzzTarget struct{ pkg, name string }

var fuzzName = regexp.MustCompile(`^Fuzz\w+$`)

func fuzzTargets(ctx context.Context, dir string) ([]fuzzTarget, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-json", "-list", "^Fuzz", "./...")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the fuzz targets: %w", err)
	}
	var targets []fuzzTarget
	for line := range strings.Lines(string(out)) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return nil, fmt.Errorf("listing the fuzz targets: %w", err)
		}
		if name := strings.TrimSpace(e.Output); e.Action == "output" && fuzzName.MatchString(name) {
			targets = append(targets, fuzzTarget{e.Package, name})
		}
	}
	return targets, nil
}

func fuzz(ctx context.Context, dir string, target fuzzTarget) (count, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-run=^$", "-fuzz=^"+target.name+"$", "-fuzztime="+fuzzTime, target.pkg)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		fmt.Printf("%s", out)
		return count{failed: 1}, nil
	}
	return count{passed: 1}, nil
}
