// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// count is how many tests ended which way.
type count struct{ passed, failed, skipped int }

func (c *count) add(other count) {
	c.passed += other.passed
	c.failed += other.failed
	c.skipped += other.skipped
}

// timing is a step that has ended.
type timing struct {
	what string
	took time.Duration
	count
}

// ledger gathers what became of the steps of a run. It is safe for concurrent use.
type ledger struct {
	mu    sync.Mutex
	total count
	times []timing
	// failures are what to say of steps that failed.
	failures []string
	// reports are those of Ginkgo's calls so far.
	reports []string
}

// add counts what belongs to no step.
func (l *ledger) add(c count) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total.add(c)
}

// failed is how many have failed so far.
func (l *ledger) failed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total.failed
}

// keep counts a step.
func (l *ledger) keep(t timing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total.add(t.count)
	l.times = append(l.times, t)
}

// fail keeps what a failed step has said at last.
func (l *ledger) fail(what, said string, err error) {
	if err != nil {
		said += "\nerror: " + err.Error()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = append(l.failures, fmt.Sprintf("\nFAILED %s\n%s\n", what, strings.TrimSpace(said)))
}

// expect says where there will be a report.
func (l *ledger) expect(report string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reports = append(l.reports, report)
}

// summarise ends with what failed and the count: the end is what a reader of a log sees
// first.
func (l *ledger) summarise(out io.Writer, begun time.Time) count {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintln(out, "\nWhere the time went:")
	for _, t := range l.times {
		fmt.Fprintf(out, "  %8s  %-55s %5d passed %3d failed %3d skipped\n", t.took, t.what, t.passed, t.failed, t.skipped)
	}
	fmt.Fprintf(out, "  %8s  in all\n", time.Since(begun).Round(time.Second))
	for _, failure := range l.failures {
		fmt.Fprint(out, failure)
	}
	printFailures(out, l.reports)
	fmt.Fprintf(out, "\n%d passed, %d failed, %d skipped\n", l.total.passed, l.total.failed, l.total.skipped)
	return l.total
}
