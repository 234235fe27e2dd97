// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"strings"
	"testing"
	"time"
)

func TestProgressPrintsTheCurrentStep(t *testing.T) {
	p := &progress{ended: make(chan struct{})}
	p.step("hosts", 0, 3)
	ticks, out := make(chan time.Time), &strings.Builder{}
	p.done.Go(func() { p.print(out, ticks) })
	ticks <- time.Time{}
	ticks <- time.Time{} // the first line is written now
	p.stop()
	if want := strings.Repeat("checking hosts (1 of 3)\n", 2); out.String() != want {
		t.Errorf("%q, want %q", out, want)
	}
}

func TestQuickCommandPrintsNoProgress(t *testing.T) {
	reader, writer := io.Pipe()
	go func() {
		p := startProgress(writer)
		p.step("hosts", 0, 1)
		p.stop()
		_ = writer.Close()
	}()
	if out, err := io.ReadAll(reader); err != nil || len(out) > 0 {
		t.Errorf("%q, %v", out, err)
	}
}
