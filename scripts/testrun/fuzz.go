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
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const (
	// fuzzTime is how long each fuzz target runs beyond its seeds.
	fuzzTime = "5s"
	fuzzed   = "fuzz targets, " + fuzzTime + " each"
)

// fuzzAll runs every fuzz target of every module for a while.
func fuzzAll(ctx context.Context, root string, out io.Writer) (count, error) {
	var (
		all  count
		errs error
	)
	for _, module := range modules {
		folder := filepath.Join(root, module)
		targets, err := fuzzTargets(ctx, folder)
		errs = errors.Join(errs, err)
		for _, target := range targets {
			all.add(fuzz(ctx, folder, target, out))
		}
	}
	return all, errs
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

// fuzz is polite, because it may run beside what has less to do and more to wait for.
func fuzz(ctx context.Context, dir string, target fuzzTarget, out io.Writer) count {
	begun := time.Now()
	cmd := exec.CommandContext(ctx, "nice", "go", "test", "-run=^$", "-fuzz=^"+target.name+"$", "-fuzztime="+fuzzTime, target.pkg)
	cmd.Dir = dir
	said, err := cmd.CombinedOutput()
	fmt.Fprintf(out, "    %s: %v\n", target.name, time.Since(begun).Round(time.Second))
	if err != nil {
		fmt.Fprintf(out, "%s%v\n", said, err)
		return count{failed: 1}
	}
	return count{passed: 1}
}
