// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/install/installtest"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
)

// everyStart lists the possible states of a host before an installation.
var everyStart = []struct {
	name    string
	prepare func(*testing.T, *testHost)
}{
	{"host without Bulkhead", func(*testing.T, *testHost) {}},
	{"a host with parity", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), options(Parity)))
	}},
}

func TestInstallThatEndsEarlyIsRolledBack(t *testing.T) {
	for _, start := range everyStart {
		for i := range stepCount {
			for _, end := range installtest.Ends {
				name := fmt.Sprintf("%s, step %d %s: rolled back", start.name, i+1, end.Name)
				onHostInParallel(t, name, func(t *testing.T, h *testHost) {
					start.prepare(t, h)
					before := h.snapshot()
					p := h.begin(options(Hardened))
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					steps := p.steps()
					steps[i] = end.Step(steps[i], cancel)
					_, err := p.transaction(p.Timeout).Apply(ctx, p.journal, steps)
					if !errors.Is(err, end.Cause) {
						t.Errorf("error is %v, want one with %v", err, end.Cause)
					}
					mentions(t, err, "rolled back: nothing has been changed")
					h.mustBe(before)
				})
			}
		}
	}
}

func TestNextRunRecoversFromAKilledRun(t *testing.T) {
	for _, start := range everyStart {
		for i := range stepCount {
			onHostInParallel(t, fmt.Sprintf("%s, killed after step %d", start.name, i+1), func(t *testing.T, h *testHost) {
				start.prepare(t, h)
				before := h.snapshot()
				p := h.begin(options(Hardened))
				for _, s := range p.steps()[:i+1] {
					_, err := p.Run(t.Context(), s)
					must(t, err)
				}
				must(t, h.installer().transaction(options(Hardened).Timeout).Recover(t.Context()))
				h.mustBe(before)
				must(t, h.installer().Install(t.Context(), options(Hardened)))
			})
		}
	}
}

// stepCount is compared with the steps, so that the tests also break each new step.
const stepCount = 17

func TestStepCount(t *testing.T) {
	onHost(t, "hardened", func(t *testing.T, h *testHost) {
		if got := len(h.begin(options(Hardened)).steps()); got != stepCount {
			t.Errorf("%d steps, the tests break %d", got, stepCount)
		}
	})
}

func (h *testHost) begin(o Options) *plan {
	p, err := h.installer().newPlan(h.t.Context(), o)
	must(h.t, err)
	p.journal, err = journal.Begin(h.layout.Journal(), "test")
	must(h.t, err)
	return p
}

// lineStride saves time: only every fifth line of the output is tested.
const lineStride = 5

// Ctrl-C can also interrupt the run that rolls back a killed run.
func TestInterruptedRecoveryIsCompletedByTheNext(t *testing.T) {
	lines := 0
	onHost(t, "recovery without an interrupt: restores the host", func(t *testing.T, h *testHost) {
		before := h.snapshot()
		must(t, h.recoverUntil(func(int) bool { lines++; return false }))
		h.mustBe(before)
	})
	for i := 0; i < lines; i += lineStride {
		onHostInParallel(t, fmt.Sprintf("recovery cancelled at line %d of its output: the next one restores the host", i+1),
			func(t *testing.T, h *testHost) {
				before := h.snapshot()
				err := h.recoverUntil(func(line int) bool { return line == i })
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("error is %v", err)
				}
				must(t, h.installer().transaction(options(Hardened).Timeout).Recover(t.Context()))
				h.mustBe(before)
			})
	}
}

// recoverUntil rolls back a killed installation. cancelled is called with the number of each line of
// the output, and says whether Ctrl-C comes now.
func (h *testHost) recoverUntil(cancelled func(line int) bool) error {
	h.t.Helper()
	h.kill(options(Hardened), stepCount)
	ctx, cancel := context.WithCancel(h.t.Context())
	defer cancel()
	line := 0
	h.said = func(string) {
		if cancelled(line) {
			cancel()
		}
		line++
	}
	defer func() { h.said = nil }()
	return h.installer().transaction(options(Hardened).Timeout).Recover(ctx)
}
