// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// count is how many tests ended which way.
type count struct{ passed, failed, skipped int }

func (c *count) add(other count) {
	c.passed += other.passed
	c.failed += other.failed
	c.skipped += other.skipped
}

// run is one call of this command: it gathers counts and times. It is not safe
// for concurrent use.
type run struct {
	root, output string
	begun        time.Time
	total        count
	times        []timing
	// reports are those of Ginkgo's calls so far.
	reports []string
	// cluster is the name of the one that is worked on, empty for the first.
	cluster string
	// noSkips makes a skipped spec a failure: in the profile that has everything, a
	// skip hides a rule.
	noSkips bool
}

type timing struct {
	what string
	took time.Duration
	count
}

// stage is a part of a run. A failed test is a count; an error means that the
// stage could not be carried out.
type stage func(ctx context.Context, r *run) error

var errFailed = errors.New("not everything passed")

// runStages runs every stage, whatever the others say, so that one run shows all
// that is wrong.
func runStages(ctx context.Context, stages ...stage) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	r := &run{root: root, output: filepath.Join(root, "_output"), begun: time.Now()}
	if err := os.MkdirAll(filepath.Join(r.output, "bin"), 0o755); err != nil {
		return err
	}
	for _, stage := range stages {
		if err := stage(ctx, r); err != nil {
			fmt.Println("error:", err)
			r.total.failed++
		}
		if ctx.Err() != nil {
			break
		}
	}
	r.summarise()
	if r.total.failed > 0 || r.total.passed == 0 || ctx.Err() != nil {
		return errFailed
	}
	return nil
}

// timed runs one part of a stage, and keeps its time and its count.
func (r *run) timed(what string, do func() (count, error)) error {
	fmt.Printf("=== %s\n", what)
	begin := time.Now()
	counted, err := do()
	return r.record(what, time.Since(begin), counted, err)
}

// record keeps the time and the count of a part that has ended.
func (r *run) record(what string, took time.Duration, counted count, err error) error {
	took = took.Round(time.Second)
	r.total.add(counted)
	r.times = append(r.times, timing{what: what, took: took, count: counted})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	fmt.Printf("    %s: %d passed, %d failed, %d skipped in %s\n", what, counted.passed, counted.failed, counted.skipped, took)
	return nil
}

func (r *run) summarise() {
	printFailures(os.Stdout, r.reports)
	fmt.Println("\nWhere the time went:")
	for _, t := range r.times {
		fmt.Printf("  %8s  %-45s %5d passed %3d failed %3d skipped\n", t.took, t.what, t.passed, t.failed, t.skipped)
	}
	fmt.Printf("  %8s  in all\n\n", time.Since(r.begun).Round(time.Second))
	fmt.Printf("%d passed, %d failed, %d skipped\n", r.total.passed, r.total.failed, r.total.skipped)
}
