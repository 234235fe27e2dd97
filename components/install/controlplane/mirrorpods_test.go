// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// TestDirectoriesOutliveThePodsThatSeeThem: if a container starts again while its pod ends, the
// runtime would create the removed directories again.
func TestDirectoriesOutliveThePodsThatSeeThem(t *testing.T) {
	for _, tc := range []struct {
		name   string
		ending time.Duration
		deaf   bool
		// least and most limit how long the directories stay after the manifests.
		least, most time.Duration
		says        string
	}{
		{"pods that end at once", 0, false, 0, time.Second, ""},
		{"pods that end late", 20 * time.Second, false, 20 * time.Second, 25 * time.Second, ""},
		{"pods that never end", time.Hour, false, time.Minute, 61 * time.Second,
			"bulkhead-kubelet-approver, bulkhead-certs, bulkhead-node-restriction, bulkhead-node-authorizer"},
		{"an API that does not answer", 0, true, time.Minute, 61 * time.Second, "deadline"},
	} {
		onHost(t, tc.name, func(t *testing.T, h *testHost) {
			before := h.snapshot()
			must(t, h.installer().Install(t.Context(), options(Hardened)))
			h.ending, h.deaf = tc.ending, tc.deaf
			stayed := h.stopwatch("remove the static pods", "remove "+h.layout.State)
			must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
			h.mustBe(before)
			if *stayed < tc.least || *stayed > tc.most {
				t.Errorf("they stay for %s, want between %s and %s", *stayed, tc.least, tc.most)
			}
			if got := h.out.String(); tc.says != "" && !strings.Contains(got, tc.says) ||
				strings.Contains(got, "removed nevertheless") != (tc.says != "") {
				t.Errorf("it says:\n%s", got)
			}
		})
	}
}

// stopwatch measures the time from the end of one step to the end of another.
func (h *testHost) stopwatch(from, to string) *time.Duration {
	var (
		begin  time.Time
		passed time.Duration
	)
	h.said = func(line string) {
		switch {
		case strings.Contains(line, "done       "+from):
			begin = time.Now()
		case strings.Contains(line, "done       "+to):
			passed = time.Since(begin)
		}
	}
	return &passed
}

func TestAShortTimeoutBoundsTheWaitForPodsToo(t *testing.T) {
	onHost(t, "pods that never end", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		h.ending = time.Hour
		stayed := h.stopwatch("remove the static pods", "remove "+h.layout.State)
		must(t, h.installer().Uninstall(t.Context(), 10*time.Second))
		if *stayed > 11*time.Second {
			t.Errorf("it waits %s", *stayed)
		}
	})
}

// TestAnInterruptedWaitForPodsIsPickedUp also shows that a second uninstallation succeeds.
func TestAnInterruptedWaitForPodsIsPickedUp(t *testing.T) {
	onHost(t, "hardened", func(t *testing.T, h *testHost) {
		before := h.snapshot()
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		h.ending = 30 * time.Second
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		h.said = func(line string) {
			if strings.Contains(line, "remove the static pods") {
				time.AfterFunc(3*time.Second, interrupt)
			}
		}
		if err := h.installer().Uninstall(ctx, options(Hardened).Timeout); !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v", err)
		}
		if !atomicfile.Exists(h.layout.NodeAuthorizer()) {
			t.Error("the directories are gone, though the pods may see them")
		}
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
		h.mustBe(before)
	})
}

// TestRecreatedDirectoriesAreRemovedAgain creates the mounted directories of a container, as the runtime
// does.
func TestRecreatedDirectoriesAreRemovedAgain(t *testing.T) {
	onHost(t, "empty directories of ours", func(t *testing.T, h *testHost) {
		before := h.snapshot()
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		h.said = func(line string) {
			if strings.Contains(line, "remove "+h.layout.State) {
				must(t, os.MkdirAll(h.layout.PKI(), 0o755))
				must(t, os.MkdirAll(h.layout.NodeRestriction(), 0o755))
			}
		}
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
		h.mustBe(before)
		if !strings.Contains(h.out.String(), "done       remove directories that a late container has made again") {
			t.Errorf("it says:\n%s", &h.out)
		}
	})
	onHost(t, "but not what somebody has put a file into", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		theirs := filepath.Join(h.layout.PKI(), "theirs")
		h.said = func(line string) {
			if strings.Contains(line, "remove "+h.layout.State) {
				must(t, os.MkdirAll(h.layout.PKI(), 0o755))
				must(t, os.WriteFile(theirs, nil, 0o600))
			}
		}
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
		if !atomicfile.Exists(theirs) {
			t.Error("it is gone")
		}
	})
}

// TestRollbackWaitsForPods checks the same for a rollback.
func TestRollbackWaitsForPods(t *testing.T) {
	onHost(t, "a node authorizer that does not start", func(t *testing.T, h *testHost) {
		before := h.snapshot()
		h.broken["node-authorizer"], h.ending = true, 20*time.Second
		stayed := h.stopwatch("revert "+h.layout.CertsManifest(), "revert "+h.layout.PKI())
		if err := h.installer().Install(t.Context(), options(Hardened)); err == nil {
			t.Error("it succeeds")
		}
		h.mustBe(before)
		if *stayed < 20*time.Second || *stayed > 25*time.Second {
			t.Errorf("the directories stay for %s", *stayed)
		}
	})
}
