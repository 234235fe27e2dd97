// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// lane is a row of steps, one after the other, and the cluster that they are about. Lanes
// go on beside each other, and share nothing but their run.
type lane struct {
	*run
	// name begins each line of a lane that is beside others, and lines is what out is then.
	name    string
	lines   *lines
	out     io.Writer
	cluster string
	// whole is true where hardened has everything: a spec that is skipped there hides a
	// rule, and is a failure.
	whole bool
	// turn is when the lane may be busy, with its cluster for one, and calm is passed when
	// all that is left for it to do is nearly all waiting, or cannot be done.
	turn, calm *milestone
	now        atomic.Pointer[step]
	// failed is true when a step has counted a failure.
	failed bool
}

// step is what a lane does now.
type step struct {
	what  string
	begun time.Time
}

// timed runs one step, and keeps its time, its count, and what it said at last if it failed.
func (l *lane) timed(what string, do func() (count, error)) error {
	counted, said, err := l.step(what, do)
	if counted.failed > 0 {
		l.ledger.fail(l.of(what), said, err)
	}
	return about(what, err)
}

// about says which step could not be carried out.
func about(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// step is timed, for who tells by himself what has failed. What could not be carried out is a
// failure.
func (l *lane) step(what string, do func() (count, error)) (counted count, said string, err error) {
	out, last := l.out, &tail{to: l.out}
	l.out = last
	defer func() { l.out = out }()
	fmt.Fprintf(out, "=== %s\n", what)
	begun := time.Now()
	l.now.Store(&step{what, begun})
	counted, err = do()
	l.now.Store(nil)
	if err != nil && counted.failed == 0 {
		counted.failed = 1
	}
	l.failed = l.failed || counted.failed > 0
	took := time.Since(begun).Round(time.Second)
	l.ledger.keep(timing{what: l.of(what), took: took, count: counted})
	fmt.Fprintf(out, "    %s: %d passed, %d failed, %d skipped in %s\n", what, counted.passed, counted.failed, counted.skipped, took)
	if err != nil {
		fmt.Fprintf(out, "    error: %v\n", err)
	}
	return counted, last.String(), err
}

// tell says what a lane beside others does now.
func (l *lane) tell() {
	if now, out := l.now.Load(), l.lines; now != nil && out != nil {
		out.interject(fmt.Sprintf("    %s: %s so far", now.what, time.Since(now.begun).Round(time.Second)))
	}
}

// of says whose step it is, where there are several lanes.
func (l *lane) of(what string) string {
	if l.name == "" {
		return what
	}
	return l.name + ": " + what
}

// part is what is done in a lane beside others.
type part struct {
	// cluster is the lane's own, if it has one.
	name, cluster string
	// busy is true if it takes turns.
	busy bool
	do   stage
}

// interval is how long lanes may be silent about what they do.
const interval = time.Minute

// beside goes through the parts at the same time, whatever becomes of the others, and
// returns when the last has ended. Those that are busy have their turns in their order.
func (r *run) beside(ctx context.Context, parts ...part) {
	lanes := r.lanes(parts)
	var all sync.WaitGroup
	for i, l := range lanes {
		all.Go(func() { l.through(ctx, parts[i].do) })
	}
	ended := make(chan struct{})
	go func() {
		all.Wait()
		close(ended)
	}()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ended:
			return
		case <-ticker.C:
			for _, l := range lanes {
				l.tell()
			}
		}
	}
}

func (r *run) lanes(parts []part) []*lane {
	var (
		lanes []*lane
		turn  *milestone
	)
	for _, p := range parts {
		out := &lines{mu: &r.terminal, to: r.out, head: fmt.Sprintf("%-8s | ", p.name)}
		l := &lane{run: r, name: p.name, cluster: p.cluster, whole: true, lines: out, out: out}
		if p.busy {
			l.turn, l.calm = turn, newMilestone()
			turn = l.calm
		}
		lanes = append(lanes, l)
	}
	return lanes
}

// through does all of a lane. What its steps come to is counted and said with them, and what
// goes wrong between them here.
func (l *lane) through(ctx context.Context, do stage) {
	defer l.calm.pass()
	begun := time.Now()
	if err := do(ctx, l); err != nil && !l.failed {
		l.ledger.fail(l.of("between its steps"), "", err)
		l.ledger.add(count{failed: 1})
	}
	took := time.Since(begun).Round(time.Second)
	l.ledger.keep(timing{what: l.of("in all"), took: took})
	fmt.Fprintf(l.out, "=== ended after %s\n", took)
}
