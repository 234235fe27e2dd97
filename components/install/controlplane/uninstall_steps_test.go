// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/install/engine"
	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
	"github.com/bulkhead-k8s/bulkhead/components/install/installtest"
)

// uninstallStepCount is compared with the steps, so that the tests also break each new step.
const uninstallStepCount = 13

// uninstalling returns the steps of the uninstallation of this host.
func (h *testHost) uninstalling() (*Installer, []engine.Step) {
	h.t.Helper()
	record, err := ReadRecord(h.layout)
	must(h.t, err)
	in := h.installer()
	steps := in.uninstallSteps(record, options(Hardened).Timeout)
	if len(steps) != uninstallStepCount {
		h.t.Fatalf("%d steps, the tests break %d", len(steps), uninstallStepCount)
	}
	return in, steps
}

func TestUninstallThatEndsEarlyIsCompletedByTheNext(t *testing.T) {
	for i := range uninstallStepCount {
		for _, end := range installtest.Ends {
			onHostInParallel(t, fmt.Sprintf("step %d %s: the next uninstall restores the host", i+1, end.Name),
				func(t *testing.T, h *testHost) {
					before := h.snapshot()
					must(t, h.installer().Install(t.Context(), options(Hardened)))
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					in, steps := h.uninstalling()
					steps[i] = end.Step(steps[i], cancel)
					_, err := in.RunAll(ctx, steps)
					// After the last step, nothing is left to interrupt.
					complete := err == nil && i == uninstallStepCount-1 && errors.Is(end.Cause, context.Canceled)
					if !complete && !errors.Is(err, end.Cause) {
						t.Errorf("error is %v, want one with %v", err, end.Cause)
					}
					must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
					h.mustBe(before)
				})
		}
	}
}

// killedWithLock runs a part of a run that is then killed. The Lease of such a run stays.
func (h *testHost) killedWithLock(part func() error) error {
	h.t.Helper()
	lock := hosts.NewLock(h.leases, h.layout.NodeName(), time.Minute, time.Now)
	must(h.t, lock.Acquire(h.t.Context()))
	err := part()
	lease, got := h.leases.Get(h.t.Context(), hosts.LeaseName, metav1.GetOptions{})
	must(h.t, got)
	lock.Release()
	_, created := h.leases.Create(h.t.Context(), lease, metav1.CreateOptions{})
	must(h.t, created)
	return err
}

func TestUninstallThatWasKilledIsCompletedByTheNext(t *testing.T) {
	for i := range uninstallStepCount {
		onHostInParallel(t, fmt.Sprintf("killed after step %d: the next uninstall restores the host", i+1),
			func(t *testing.T, h *testHost) {
				before := h.snapshot()
				must(t, h.installer().Install(t.Context(), options(Hardened)))
				in, steps := h.uninstalling()
				must(t, h.killedWithLock(func() error {
					_, err := in.RunAll(t.Context(), steps[:i+1])
					return err
				}))
				must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
				h.mustBe(before)
			})
	}
}

func TestInterruptedUninstallSaysHowToGoOn(t *testing.T) {
	onHost(t, "uninstall cancelled while kube-apiserver restarts: the next one restores the host",
		func(t *testing.T, h *testHost) {
			before := h.snapshot()
			must(t, h.installer().Install(t.Context(), options(Hardened)))
			ctx, interrupt := context.WithCancel(t.Context())
			time.AfterFunc(options(Hardened).Timeout/2, interrupt)
			in := h.installer()
			in.Settle = time.Hour // it never counts as restored
			err := in.Uninstall(ctx, options(Hardened).Timeout)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error is %v", err)
			}
			mentions(t, err, "the steps before it are done: run `bulkhead uninstall` again")
			if left := h.leases.Names(); len(left) > 0 {
				t.Errorf("the interrupted run still has the locks %v", left)
			}
			must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
			h.mustBe(before)
		})
}
