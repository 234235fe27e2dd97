// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/bulkhead-k8s/bulkhead/kind/progress"
	"github.com/bulkhead-k8s/bulkhead/kind/refcluster"
)

// run is one call of this command, and what its lanes share. It is safe for concurrent
// use.
type run struct {
	root, output string
	begun        time.Time
	works        works
	ledger       ledger

	// out is what a person reads. Where lanes go on beside each other, they have it line
	// by line.
	out      io.Writer
	terminal sync.Mutex

	building sync.Once
	built    error
}

// works is what a run is made of. Tests put something else in its place.
type works struct {
	verify, unit stage
	// fuzz is the part of unit that takes a processor for long.
	fuzz func(ctx context.Context, out io.Writer) (count, error)
	// compile builds the end-to-end suites, and specs runs one call of Ginkgo on them.
	compile func(ctx context.Context) error
	specs   func(ctx context.Context, j job, out io.Writer) (count, error)
	// refcluster is the cluster's command.
	refcluster func(ctx context.Context, out io.Writer, args ...string) error
	// machine waits until no heavy spec has the machine, and has it until it is released.
	machine func(ctx context.Context, waiting func()) (release func(), err error)
	// onNode runs a script in a node.
	onNode    func(ctx context.Context, node, script string) error
	manifests func(ctx context.Context, l *lane) (count, error)
}

// stage is a part of a run. A failed test is a count; an error means that the
// stage could not be carried out.
type stage func(ctx context.Context, l *lane) error

var errFailed = errors.New("not everything passed")

func newRun(root string) *run {
	r := &run{root: root, output: filepath.Join(root, "_output"), begun: time.Now(), out: os.Stdout}
	r.works = works{
		verify: verify, unit: tests, compile: r.compileSuites, specs: r.runSpecs,
		refcluster: r.runRefcluster, onNode: r.runOnNode, manifests: manifestsAgainstAPI,
		machine: func(ctx context.Context, waiting func()) (func(), error) {
			return progress.Lock(ctx, filepath.Join(r.output, progress.MachineLock), waiting)
		},
		fuzz: func(ctx context.Context, out io.Writer) (count, error) {
			return fuzzAll(ctx, r.root, modules, out, 1)
		},
	}
	return r
}

// lane is the one of a run whose parts are one after the other.
func (r *run) lane() *lane { return &lane{run: r, out: r.out, cluster: refcluster.DefaultName} }

// runStages runs every stage, whatever the others say, so that one run shows all
// that is wrong.
func runStages(ctx context.Context, stages ...stage) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	r := newRun(root)
	if err := os.MkdirAll(filepath.Join(r.output, "bin"), 0o755); err != nil {
		return err
	}
	defer r.forgetSuites()
	return r.stages(ctx, stages...)
}

func (r *run) stages(ctx context.Context, stages ...stage) error {
	for _, stage := range stages {
		if err := stage(ctx, r.lane()); err != nil && r.ledger.failed() == 0 {
			// Not in a step, where it would have been counted and said.
			r.ledger.fail("what comes before the tests", "", err)
			r.ledger.add(count{failed: 1})
		}
		if ctx.Err() != nil {
			break
		}
	}
	total := r.ledger.summarise(r.out, r.begun)
	if total.failed > 0 || total.passed == 0 || ctx.Err() != nil {
		return errFailed
	}
	return nil
}
