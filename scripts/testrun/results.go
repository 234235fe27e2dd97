// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// maxFailureText limits the text of one failure, in bytes.
const maxFailureText = 3000

// count is the number of tests by result.
type count struct{ passed, failed, skipped int }

func (c count) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", c.passed, c.failed, c.skipped)
}

// result is the outcome of a step.
type result struct {
	count
	name string
	took time.Duration
	// failures are the texts to print at the end of the run.
	failures []string
}

// fail counts a failure. It keeps both ends of a long text: the beginning has a failed assertion,
// and the end has the program's last output.
func (r *result) fail(name, text string) {
	r.failed++
	text = strings.TrimSpace(text)
	if len(text) > maxFailureText {
		text = text[:maxFailureText/2] + "\n…\n" + text[len(text)-maxFailureText/2:]
	}
	r.failures = append(r.failures, fmt.Sprintf("\nFAILED %s\n%s\n", name, strings.ToValidUTF8(text, "")))
}

// results are the steps of all jobs. They are safe for concurrent use.
type results struct {
	started time.Time
	// limit is the time after which no part starts (see [job.part]). 0 means no limit.
	limit time.Duration
	mu    sync.Mutex
	steps []result
}

func (r *results) add(step result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps = append(r.steps, step)
}

// summarize prints the duration of each step and every failure. The last line is the count. ended
// is the error of the run. It counts as a failure unless a step has counted it.
func (r *results) summarize(out io.Writer, ended error) error {
	var total result
	fmt.Fprintln(out, "\nDurations:")
	for _, s := range r.steps {
		fmt.Fprintf(out, "  %8s  %-55s %s\n", s.took.Round(time.Second), s.name, s.count)
		total.passed += s.passed
		total.failed += s.failed
		total.skipped += s.skipped
		total.failures = append(total.failures, s.failures...)
	}
	fmt.Fprintf(out, "  %8s  in all\n", time.Since(r.started).Round(time.Second))
	if ended != nil && total.failed == 0 {
		total.fail("the run", ended.Error())
	}
	fmt.Fprintf(out, "%s\n%s\n", strings.Join(total.failures, ""), total.count)
	if total.failed > 0 || total.passed == 0 {
		return errors.New("not everything passed")
	}
	return nil
}
