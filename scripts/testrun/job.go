// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bulkhead-k8s/bulkhead/kind/refcluster"
)

// heartbeat is the longest time in which a step prints nothing.
const heartbeat = time.Minute

// job is a sequence of steps, and the cluster that they use. Jobs run in parallel and share
// only their results.
type job struct {
	// name is the prefix of each line that the job prints. It is empty if there is only one job.
	name, cluster string
	// heavy jobs use the whole machine. The next one starts when this one calls unblock.
	heavy   bool
	unblock func()
	do      func(ctx context.Context, j *job) error

	root, output string
	out          io.Writer
	results      *results
}

// run runs one job in the working directory. The last line that it prints is the count. It returns
// an error unless everything passed.
func run(ctx context.Context, out io.Writer, do func(ctx context.Context, j *job) error) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	j := &job{
		root: root, output: filepath.Join(root, "_output"), cluster: refcluster.DefaultName,
		out: out, results: &results{started: time.Now()}, unblock: func() {},
	}
	if err := os.MkdirAll(j.path("bin"), 0o755); err != nil {
		return err
	}
	return j.results.summarize(out, errors.Join(do(ctx, j), ctx.Err()))
}

// path returns the path of a file below _output.
func (j *job) path(elements ...string) string {
	return filepath.Join(append([]string{j.output}, elements...)...)
}

// parallel runs the jobs and returns when all have ended. A failed job does not stop the
// others, so the group has no context.
func (j *job) parallel(ctx context.Context, jobs ...*job) error {
	var (
		group    errgroup.Group
		terminal sync.Mutex
		barrier  chan struct{}
	)
	for _, next := range jobs {
		next.root, next.output, next.results = j.root, j.output, j.results
		next.out = &prefixWriter{mu: &terminal, out: j.out, prefix: fmt.Sprintf("%-8s | ", next.name)}
		next.unblock = func() {}
		var turn chan struct{}
		if next.heavy {
			done := make(chan struct{})
			next.unblock = sync.OnceFunc(func() { close(done) })
			turn, barrier = barrier, done
		}
		group.Go(func() error {
			defer next.unblock()
			if err := next.wait(ctx, turn); err != nil {
				return err
			}
			started := time.Now()
			defer func() { j.results.add(result{name: next.name + ": in all", took: time.Since(started)}) }()
			return next.do(ctx, next)
		})
	}
	return group.Wait()
}

// wait waits for the job's turn. If turn is nil, it returns at once.
func (j *job) wait(ctx context.Context, turn <-chan struct{}) error {
	if turn == nil {
		return nil
	}
	return j.step(ctx, "waiting for its turn", func(*result) error {
		select {
		case <-turn:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// step runs do, which may count tests, and adds the result to the others. An error means that
// the step could not be completed, and counts as one more failure. After an interrupt no step
// starts.
func (j *job) step(ctx context.Context, name string, do func(r *result) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	fmt.Fprintf(j.out, "=== %s\n", name)
	r := result{name: name}
	if j.name != "" {
		r.name = j.name + ": " + name
	}
	started, ended := time.Now(), make(chan struct{})
	go j.beat(name, ended)
	err := do(&r)
	close(ended)
	if err != nil {
		r.fail(r.name, err.Error())
	}
	r.took = time.Since(started)
	fmt.Fprintf(j.out, "    %s: %s in %s\n", name, r.count, r.took.Round(time.Second))
	j.results.add(r)
	return err
}

// part is a step that does not start when the run's limit has passed. Then it counts as skipped.
type part struct {
	name string
	do   func(r *result) error
}

// part runs one part.
func (j *job) part(ctx context.Context, name string, do func(r *result) error) error {
	return j.parts(ctx, part{name, do})
}

// parts runs parts in their order. The limit applies once, when the first one starts: all of them start, or
// none. A failure does not stop the next part.
func (j *job) parts(ctx context.Context, parts ...part) error {
	limit := j.results.limit
	skipped := limit != 0 && time.Since(j.results.started) >= limit && ctx.Err() == nil
	var errs error
	for _, p := range parts {
		do := p.do
		if skipped {
			do = func(r *result) error {
				fmt.Fprintf(j.out, "    %s: skipped: no part starts after %s; for all parts, run make test TEST_LIMIT=0\n",
					p.name, limit)
				r.skipped++
				return nil
			}
		}
		errs = errors.Join(errs, j.step(ctx, p.name, do))
	}
	return errs
}

func (j *job) beat(name string, ended <-chan struct{}) {
	started, ticker := time.Now(), time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			fmt.Fprintf(j.out, "    %s: %s so far\n", name, time.Since(started).Round(time.Second))
		case <-ended:
			return
		}
	}
}
