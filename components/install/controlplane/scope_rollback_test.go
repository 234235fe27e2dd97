// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/install/scope"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// TestScopeSyncThatDoesNotStartIsRolledBack, whether there was a scope-sync before or not.
func TestScopeSyncThatDoesNotStartIsRolledBack(t *testing.T) {
	for _, start := range []struct {
		name string
		o    *Options
	}{
		{"host without Bulkhead", nil}, {"a host without node scope", new(options(Hardened))},
		{"a host with node scope", new(scoped(Hardened))},
	} {
		onHost(t, start.name, func(t *testing.T, h *testHost) {
			if start.o != nil {
				must(t, h.installer().Install(t.Context(), *start.o))
			}
			if start.o != nil && start.o.NodeScope.On {
				h.sync("a")
			}
			before := h.snapshot()
			h.broken[scope.SyncName] = true
			o := scoped(Hardened)
			o.Image = "example.test/bulkhead:2"
			err := h.installer().Install(t.Context(), o)
			mentions(t, err, "pod bulkhead-scope-sync")
			mentions(t, err, "rolled back")
			h.mustBe(before)
		})
	}
}

// TestAScopeSyncThatComplainsStopsNoUpgrade: otherwise every user who may annotate accounts could
// stop an upgrade. But a first installation of node scope fails.
func TestAScopeSyncThatComplainsStopsNoUpgrade(t *testing.T) {
	onHost(t, "a new image, and a first time", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), scoped(Hardened)))
		h.sync("a")
		h.complains[scope.SyncName] = true
		o := scoped(Hardened)
		o.Image = "example.test/bulkhead:2"
		must(t, h.installer().Install(t.Context(), o))
		h.holds(1)
		if got := h.out.String(); !strings.Contains(got, "bulkhead scope list") {
			t.Errorf("it says:\n%s", got)
		}
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		mentions(t, h.installer().Install(t.Context(), o), "rolled back")
	})
}

// TestEveryFailingNodeScopeStepIsRolledBack switches node scope on and off.
func TestEveryFailingNodeScopeStepIsRolledBack(t *testing.T) {
	for _, tc := range []struct {
		name     string
		from, to Options
	}{{"on", options(Hardened), scoped(Hardened)}, {"off", scoped(Hardened), options(Hardened)}} {
		for i := range stepCount + 2 {
			onHostInParallel(t, fmt.Sprintf("%s, step %d", tc.name, i+1), func(t *testing.T, h *testHost) {
				must(t, h.installer().Install(t.Context(), tc.from))
				if tc.from.NodeScope.On {
					h.sync("a", "b")
				}
				before := h.snapshot()
				p := h.begin(tc.to)
				steps := p.steps()
				if i >= len(steps) {
					_, err := p.transaction(p.Timeout).Apply(t.Context(), p.journal, steps)
					must(t, err)
					return
				}
				whole := steps[i]
				steps[i].Apply = func(ctx context.Context) (bool, error) {
					_, err := p.Run(ctx, whole)
					return true, errors.Join(errors.New("broken on purpose"), err)
				}
				_, err := p.transaction(p.Timeout).Apply(t.Context(), p.journal, steps)
				mentions(t, err, "rolled back")
				h.mustBe(before)
			})
		}
	}
}

// TestAuthorizationEntryExistsOnlyWhileComponentsAnswer: the entry exists only while the components can answer.
func TestAuthorizationEntryExistsOnlyWhileComponentsAnswer(t *testing.T) {
	onHost(t, "there, back, and back from there", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		h.said = func(string) { h.nobodyIsAskedInVain() }
		for _, o := range []Options{scoped(Hardened), options(Hardened)} {
			must(t, h.installer().Install(t.Context(), o))
		}
		h.broken[scope.SyncName] = true
		if err := h.installer().Install(t.Context(), scoped(Hardened)); err == nil {
			t.Error("it succeeds")
		}
		h.broken[scope.SyncName] = false
		must(t, h.installer().Install(t.Context(), scoped(Hardened)))
		h.broken["node-authorizer"] = true
		if err := h.installer().Install(t.Context(), options(Hardened)); err == nil {
			t.Error("it succeeds")
		}
		h.holds(0)
	})
}

func TestSecondHostKeepsScopeSyncRBAC(t *testing.T) {
	onHost(t, "cp-1 runs it", func(t *testing.T, h *testHost) {
		h.others, h.bare = []string{"cp-1"}, "cp-2"
		h.scoped = []string{"cp-1"}
		must(t, h.installer().Install(t.Context(), scoped(Hardened)))
		if got := h.out.String(); !strings.Contains(got, "API servers of cp-2 do not enforce node scope") {
			t.Errorf("it says:\n%s", got)
		}
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		if h.objects["ClusterRole/bulkhead:scope-sync"] == nil || atomicfile.Exists(h.layout.ScopeSyncManifest()) {
			t.Error("cp-1 has lost its rights, or this host runs it still")
		}
	})
}
