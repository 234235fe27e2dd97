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

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-k8s/bulkhead/components/install/engine"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

func TestInstallThenUninstallLeavesTheHostAsItWas(t *testing.T) {
	for _, profile := range []Profile{Hardened, Parity} {
		onHost(t, string(profile), func(t *testing.T, h *testHost) {
			before := h.snapshot()
			must(t, h.installer().Install(t.Context(), options(profile)))
			if !h.wired() {
				t.Fatal("the API server does not use our authorization file")
			}
			must(t, h.installer().Uninstall(t.Context(), options(profile).Timeout))
			h.mustBe(before)
			must(t, h.installer().Uninstall(t.Context(), options(profile).Timeout))
			h.mustBe(before)
		})
	}
}

func TestComponentsReadOnlyTheirOwnFiles(t *testing.T) {
	onHost(t, "hardened", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		for dir, want := range map[string]atomicfile.File{
			h.layout.NodeRestriction(): {Mode: 0o640, UID: atomicfile.KeepOwner, GID: h.layout.ComponentGID},
			h.layout.NodeAuthorizer():  {Mode: 0o640, UID: atomicfile.KeepOwner, GID: h.layout.ComponentGID},
			h.layout.StaticManifests(): {Mode: 0o600, UID: atomicfile.KeepOwner, GID: os.Getegid()},
			h.layout.APIServer():       {Mode: 0o600, UID: atomicfile.KeepOwner, GID: os.Getegid()},
			h.layout.PKI():             {Mode: 0o600, UID: atomicfile.KeepOwner, GID: os.Getegid()},
		} {
			entries, err := os.ReadDir(dir)
			must(t, err)
			for _, entry := range entries {
				if entry.IsDir() {
					continue
				}
				file, _, err := atomicfile.Read(filepath.Join(dir, entry.Name()))
				must(t, err)
				want.Data = file.Data
				if !atomicfile.Same(file, want) {
					t.Errorf("%s in %s has mode %v and group %d", entry.Name(), dir, file.Mode, file.GID)
				}
			}
		}
	})
}

func TestASecondInstallChangesNothing(t *testing.T) {
	onHost(t, "hardened", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		first, starts := h.snapshot(), h.starts
		h.out.Reset()
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		h.mustBe(first)
		if h.starts != starts {
			t.Error("the second run restarted the API server")
		}
		if !strings.Contains(h.out.String(), "Nothing had to be changed") {
			t.Errorf("the second run does not say so:\n%s", &h.out)
		}
	})
}

func TestADryRunChangesNothing(t *testing.T) {
	onHost(t, "before and after", func(t *testing.T, h *testHost) {
		before := h.snapshot()
		must(t, h.installer().DryRun(t.Context(), options(Hardened)))
		h.mustBe(before)
		if got := h.out.String(); !strings.Contains(got, "would      restart kube-apiserver") ||
			strings.Contains(got, "unchanged") {
			t.Errorf("it says:\n%s", got)
		}
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		h.out.Reset()
		must(t, h.installer().DryRun(t.Context(), options(Hardened)))
		if got := h.out.String(); strings.Contains(got, "would") {
			t.Errorf("after the installation it says:\n%s", got)
		}
	})
}

func TestAManifestThatWasOnlyLaidOutAnewIsLeftAlone(t *testing.T) {
	onHost(t, "a comment at the end", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		file := h.layout.APIServerManifest()
		data, err := os.ReadFile(file)
		must(t, err)
		must(t, os.WriteFile(file, append(data, "# checked\n"...), 0o600))
		h.kubelet()
		starts := h.starts
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		if h.starts != starts {
			t.Error("the manifest was written again: the kubelet sees no change in it, and we would wait in vain")
		}
	})
}

func TestSwitchingProfilesKeepsTheFirstOriginal(t *testing.T) {
	onHost(t, "there and back", func(t *testing.T, h *testHost) {
		before := h.snapshot()
		for _, profile := range []Profile{Hardened, Parity, Hardened} {
			must(t, h.installer().Install(t.Context(), options(profile)))
			record, err := ReadRecord(h.layout)
			must(t, err)
			if record.Profile != profile {
				t.Errorf("the record says %s, not %s", record.Profile, profile)
			}
		}
		must(t, h.installer().Install(t.Context(), options(InTree)))
		h.mustBe(before)
	})
}

func TestInTreeNodeIsRestoredBeforeNodeAuthorizerRestarts(t *testing.T) {
	onHost(t, "from parity to hardened", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), options(Parity)))
		h.log = nil
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		if diff := cmp.Diff([]string{"node-restriction", "kube-apiserver", "node-authorizer"}, h.log); diff != "" {
			t.Errorf("restarts (-want +got):\n%s", diff)
		}
	})
}

func TestFailedInstallIsReportedAndRolledBack(t *testing.T) {
	for _, tc := range []struct {
		name     string
		spoil    func(*testHost)
		mentions string
	}{
		{"a node authorizer that does not start shows the end of its log",
			func(h *testHost) { h.broken["node-authorizer"] = true }, "out of luck"},
		{"a webhook that the API server cannot call is named", func(h *testHost) { h.webhookBroken = true },
			"the node authorizer does not decide"},
		{"an API server that does not come up is named", func(h *testHost) { h.serverStuck = true },
			"not within 3m0s: /readyz: connection refused"},
		{"a kubeadm-config that cannot be written is named", func(h *testHost) { h.kubeadmBroken = true },
			"admission refuses"},
	} {
		onHost(t, tc.name, func(t *testing.T, h *testHost) {
			before := h.snapshot()
			tc.spoil(h)
			err := h.installer().Install(t.Context(), options(Hardened))
			if err == nil || !strings.Contains(err.Error(), tc.mentions) ||
				!strings.Contains(err.Error(), "rolled back") {
				t.Errorf("error is %v", err)
			}
			h.mustBe(before)
			if h.wired() {
				t.Error("the API server still uses our authorization file")
			}
		})
	}
}

func TestInterruptRollsBack(t *testing.T) {
	onHost(t, "while the API server restarts", func(t *testing.T, h *testHost) {
		before := h.snapshot()
		h.serverStuck = true
		ctx, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Second, interrupt)
		begin := time.Now()
		err := h.installer().Install(ctx, options(Hardened))
		if !errors.Is(err, context.Canceled) || time.Since(begin) > 20*time.Second {
			t.Errorf("after %s the error is %v", time.Since(begin), err)
		}
		h.mustBe(before)
	})
}

func TestInstallWaitsForAShortRenewal(t *testing.T) {
	onHost(t, "hardened", func(t *testing.T, h *testHost) {
		begun, renewed := make(chan struct{}), make(chan error, 1)
		go func() {
			renewed <- h.installer().Locked(func() error {
				close(begun)
				time.Sleep(engine.Patience / 2)
				return nil
			})
		}()
		<-begun
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		must(t, <-renewed)
	})
}

func TestTwoInstallersAtOnceAreRefused(t *testing.T) {
	onHost(t, "hardened", func(t *testing.T, h *testHost) {
		var second error
		must(t, h.installer().Locked(func() error {
			second = h.installer().Install(t.Context(), options(Hardened))
			return nil
		}))
		if second == nil || !strings.Contains(second.Error(), "another bulkhead") {
			t.Errorf("error is %v", second)
		}
	})
}
