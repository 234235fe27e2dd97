// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/scope"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

const (
	runsSync    = "run scope-sync (static pod)"
	switches    = "switch kube-apiserver"
	answers     = "run the node authorizer"
	writesLists = "write the API server's admission files"
	givesUp     = "Rolling back"
)

// TestWhenScopeSyncStarts: scope-sync starts before the API server restarts. But it starts after
// the components that answer about the listed accounts. It also does not start while the running
// server would reject the files that scope-sync writes.
func TestWhenScopeSyncStarts(t *testing.T) {
	for _, tc := range []struct {
		name     string
		from, to Options
		order    []string
	}{
		{"on a host without Bulkhead", Options{}, scoped(Hardened), []string{answers, writesLists, runsSync, switches}},
		{"in parity too", Options{}, scoped(Parity), []string{answers, writesLists, runsSync, switches}},
		{"on a host without node scope", options(Hardened), scoped(Hardened),
			[]string{answers, writesLists, runsSync, switches}},
		{"where a new image comes", scoped(Hardened), scoped(Hardened), []string{answers, writesLists, runsSync, switches}},
		{"where the authorizer comes late", options(Parity), scoped(Hardened),
			[]string{writesLists, switches, answers, runsSync}},
		{"where the running server refuses the file", options(Hardened), scoped(Parity),
			[]string{answers, writesLists, switches, runsSync}},
		{"where it refuses it, with node scope before", scoped(Hardened), scoped(Parity),
			[]string{answers, writesLists, switches, runsSync}},
	} {
		onHost(t, tc.name, func(t *testing.T, h *testHost) {
			if tc.from.Profile != "" {
				must(t, h.installer().Install(t.Context(), tc.from))
				tc.to.Image = "example.test/bulkhead:2"
			}
			h.out.Reset()
			must(t, h.installer().Install(t.Context(), tc.to))
			if at := positions(h.out.String(), tc.order); !slices.IsSorted(at) || at[0] < 0 {
				t.Errorf("%q are at %v in:\n%s", tc.order, at, &h.out)
			}
		})
	}
}

// nobodyIsAskedInVain fails if kube-apiserver asks about scoped accounts and a component cannot
// answer.
func (h *testHost) nobodyIsAskedInVain() {
	h.t.Helper()
	asked := bytes.Contains(read(h.t, h.layout.AuthorizationConfig()), []byte(scopelist.EntryName)) ||
		atomicfile.Exists(h.layout.ScopeRegistration())
	for _, manifest := range []string{h.layout.NodeAuthorizerManifest(), h.layout.NodeRestrictionManifest()} {
		if asked && !bytes.Contains(read(h.t, manifest), []byte("--node-scope=true")) {
			h.t.Errorf("kube-apiserver asks about accounts, and %s does not know the answer:\n%s", manifest, &h.out)
		}
	}
}

func positions(text string, of []string) []int {
	var at []int
	for _, part := range of {
		at = append(at, strings.Index(text, part))
	}
	return at
}

func TestNoServerRestartsForAScopeSyncThatDoesNotComeUp(t *testing.T) {
	onHost(t, "a host without us", func(t *testing.T, h *testHost) {
		before := h.snapshot()
		h.kubelet()
		starts := h.starts
		h.broken[scope.SyncName] = true
		mentions(t, h.installer().Install(t.Context(), scoped(Hardened)), "pod bulkhead-scope-sync")
		if h.mustBe(before); h.starts != starts {
			t.Errorf("kube-apiserver was restarted:\n%s", &h.out)
		}
	})
}

// TestInstallDoesNotWaitForScopeSyncAfterServerRestart: scope-sync reports that the server was down. The installer does
// not wait until scope-sync sees the server again.
func TestInstallDoesNotWaitForScopeSyncAfterServerRestart(t *testing.T) {
	onHost(t, "one that complains is not waited for", func(t *testing.T, h *testHost) {
		h.said = func(line string) {
			if strings.Contains(line, "done       "+switches) {
				h.complains[scope.SyncName] = true
			}
		}
		begin := time.Now()
		if err, took := h.installer().Install(t.Context(), scoped(Hardened)), time.Since(begin); err != nil ||
			took > 30*time.Second {
			t.Errorf("after %s: %v", took, err)
		}
	})
}

// TestAScopeSyncThatWritesOnceMoreIsOverruled: the rollback replaces a late write, even if it did
// not wait for the end of scope-sync.
func TestAScopeSyncThatWritesOnceMoreIsOverruled(t *testing.T) {
	onHost(t, "on a host without node scope", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		before := h.snapshot()
		h.webhookBroken = true
		var written []byte
		h.said = func(line string) {
			switch {
			case strings.Contains(line, givesUp):
				h.sync("a")
				written = read(t, h.layout.AuthorizationConfig())
			case strings.Contains(line, "restore "+h.layout.AuthorizationConfig()) && written != nil:
				// scope-sync writes in the same way: it replaces the file by another one.
				must(t, os.Remove(h.layout.AuthorizationConfig()))
				must(t, os.WriteFile(h.layout.AuthorizationConfig(), written, 0o600))
				written = nil
			}
		}
		mentions(t, h.installer().Install(t.Context(), scoped(Hardened)), "rolled back")
		h.mustBe(before)
		if written != nil {
			t.Errorf("it wrote nothing:\n%s", &h.out)
		}
	})
}

// TestStoppingScopeSyncDoesNotOverwriteTheRestoredFile: a scope-sync that is ending may still write. Then it
// would overwrite the restored file with its list.
func TestStoppingScopeSyncDoesNotOverwriteTheRestoredFile(t *testing.T) {
	onHost(t, "on a host without node scope", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		before := h.snapshot()
		h.webhookBroken, h.ending = true, 3*time.Second
		var (
			written []byte
			wrote   bool
		)
		h.said = func(line string) {
			if strings.Contains(line, givesUp) {
				h.sync("a")
				written = read(t, h.layout.AuthorizationConfig())
			}
			h.nobodyIsAskedInVain()
		}
		h.dying = func(pod string) {
			if pod == "bulkhead-"+scope.SyncName {
				wrote = true
				must(t, os.WriteFile(h.layout.AuthorizationConfig(), written, 0o600))
			}
		}
		mentions(t, h.installer().Install(t.Context(), scoped(Hardened)), "rolled back")
		h.mustBe(before)
		if !wrote {
			t.Errorf("nobody waits for its end:\n%s", &h.out)
		}
	})
}

// TestAServerThatDoesNotAnswerDoesNotWaitForScopeSync: if the server does not answer, the rollback
// must not wait for the end of scope-sync.
func TestAServerThatDoesNotAnswerDoesNotWaitForScopeSync(t *testing.T) {
	for _, tc := range []struct {
		name     string
		from, to Options
		// first is a file that is restored as soon as there is one.
		first func(host.Layout) string
	}{
		{"on a host without Bulkhead", Options{}, scoped(Hardened), host.Layout.APIServerManifest},
		{"on one that reads lists", options(Hardened), scoped(Hardened), host.Layout.AuthorizationConfig},
	} {
		onHost(t, tc.name, func(t *testing.T, h *testHost) {
			if tc.from.Profile != "" {
				must(t, h.installer().Install(t.Context(), tc.from))
			}
			before := h.snapshot()
			h.ending = 3 * time.Second
			var begin time.Time
			h.said = func(line string) {
				switch {
				case strings.Contains(line, "done       "+runsSync):
					h.serverStuck = true
				case strings.Contains(line, givesUp):
					begin = time.Now()
				case !begin.IsZero() && strings.Contains(line, "restore "+tc.first(h.layout)):
					if atomicfile.Exists(h.layout.ScopeSyncManifest()) || time.Since(begin) > time.Second {
						t.Errorf("after %s scope-sync is told to run: %t", time.Since(begin),
							atomicfile.Exists(h.layout.ScopeSyncManifest()))
					}
					h.serverStuck, begin = false, time.Time{}
				}
			}
			mentions(t, h.installer().Install(t.Context(), tc.to), "rolled back")
			h.mustBe(before)
			if !begin.IsZero() {
				t.Errorf("%s was not restored:\n%s", tc.first(h.layout), &h.out)
			}
		})
	}
}
