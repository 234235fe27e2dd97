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
)

// fuzzTime is how long each fuzz target runs beyond its seeds.
const fuzzTime = "10s"

func unit(ctx context.Context, r *run) error {
	err := r.timed("unit tests, with the race detector", func() (count, error) {
		return goTest(ctx, r.root, "-race", "./...")
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
	cmd.Dir, cmd.Stderr = dir, os.Stderr
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

func countEvents(in io.Reader, out io.Writer) (count, error) {
	var counted count
	said := map[string]*strings.Builder{}
	decoder := json.NewDecoder(in)
	for {
		var e event
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			return counted, nil
		} else if err != nil {
			return counted, fmt.Errorf("reading what go test says: %w", err)
		}
		key := e.Package + e.ImportPath + " " + e.Test
		if said[key] == nil {
			said[key] = &strings.Builder{}
		}
		switch e.Action {
		case "output", "build-output":
			said[key].WriteString(e.Output)
		case "pass":
			if e.Test != "" {
				counted.passed++
			}
			delete(said, key)
		case "fail", "build-fail":
			counted.failed++
			fmt.Fprintf(out, "--- FAIL %s\n%s", key, said[key])
		case "skip":
			if e.Test != "" {
				counted.skipped++
				fmt.Fprintf(out, "--- SKIP %s\n%s", key, said[key])
			}
		}
	}
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
