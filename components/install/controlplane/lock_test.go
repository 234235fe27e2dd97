// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
)

var deleteOptions = metav1.DeleteOptions{}

func failing(context.Context) (bool, error) { return true, errors.New("broken on purpose") }

func TestOneInstallerInTheCluster(t *testing.T) {
	for _, tc := range []struct {
		name string
		run  func(*testing.T, *testHost) error
		// refused is true if the lock of another host stops it.
		refused bool
	}{
		{"install", func(t *testing.T, h *testHost) error {
			return h.installer().Install(t.Context(), options(Hardened))
		}, true},
		{"uninstall", func(t *testing.T, h *testHost) error {
			return h.installer().Uninstall(t.Context(), options(Hardened).Timeout)
		}, true},
		{"dry run", func(t *testing.T, h *testHost) error {
			return h.installer().DryRun(t.Context(), options(Hardened))
		}, false},
	} {
		onHosts(t, tc.name, 2, func(t *testing.T, all []*testHost) {
			h := all[0].on()
			other := hosts.NewLock(h.leases, "cp-2", time.Minute, time.Now)
			must(t, other.Acquire(t.Context()))
			before := h.snapshot()
			err := tc.run(t, h)
			h.mustBe(before)
			other.Release()
			if !tc.refused {
				must(t, err)
				return
			}
			mentions(t, err, `bulkhead runs on host "cp-2" since `)
			must(t, tc.run(t, h))
		})
	}
}

func TestLockIsHeldWhileTheRunLasts(t *testing.T) {
	onHost(t, "installation and uninstallation", func(t *testing.T, h *testHost) {
		held, lines := 0, 0
		h.said = func(line string) {
			lines++
			if slices.Contains(h.leases.Names(), hosts.LeaseName) {
				held++
			}
		}
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
		if held != lines || lines == 0 || len(h.leases.Names()) != 0 {
			t.Errorf("held at %d of %d lines; left are %v", held, lines, h.leases.Names())
		}
	})
	onHost(t, "a run that fails releases it", func(t *testing.T, h *testHost) {
		h.broken["node-authorizer"] = true
		mentions(t, h.installer().Install(t.Context(), options(Hardened)), "rolled back")
		if len(h.leases.Names()) != 0 {
			t.Errorf("left are %v", h.leases.Names())
		}
	})
}

func TestLockAndAnAPIThatDoesNotAnswer(t *testing.T) {
	refused := func(string) error { return errors.New("connection refused") }
	onHost(t, "install: nothing is changed", func(t *testing.T, h *testHost) {
		before := h.snapshot()
		h.leases.Before(refused)
		mentions(t, h.installer().Install(t.Context(), options(Hardened)), "cannot lock the control plane")
		h.leases.Before(nil)
		h.mustBe(before)
	})
	onHost(t, "uninstall, and the server has just started: waits for the lock", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		h.out.Reset()
		denied := 2
		h.leases.Before(func(string) error {
			if denied--; denied < 0 {
				return nil
			}
			return errors.New("forbidden")
		})
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
		if strings.Contains(h.out.String(), "begins without the lock") {
			t.Errorf("it says:\n%s", &h.out)
		}
	})
	onHost(t, "recovery of a killed run: goes on, then the installation stops", func(t *testing.T, h *testHost) {
		before := h.snapshot()
		h.kill(options(Hardened), stepCount-1)
		h.leases.Before(refused)
		mentions(t, h.installer().Install(t.Context(), options(Hardened)), "cannot lock the control plane")
		h.leases.Before(nil)
		h.mustBe(before)
	})
	onHost(t, "a run that has begun goes on", func(t *testing.T, h *testHost) {
		h.said = func(line string) {
			if strings.Contains(line, "save kube-apiserver's manifest") {
				h.leases.Before(refused)
			}
		}
		must(t, h.installer().Install(t.Context(), options(Hardened)))
	})
	onHost(t, "another host takes over: said", func(t *testing.T, h *testHost) {
		var other *hosts.Lock
		h.said = func(line string) {
			if other == nil && strings.Contains(line, "save kube-apiserver's manifest") {
				must(t, h.leases.Delete(t.Context(), hosts.LeaseName, deleteOptions))
				other = hosts.NewLock(h.leases, "cp-9", time.Minute, time.Now)
				must(t, other.Acquire(t.Context()))
			}
		}
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		other.Release()
		if !strings.Contains(h.out.String(), `bulkhead on host "cp-9" has taken over the lock`) {
			t.Errorf("it does not say so:\n%s", &h.out)
		}
	})
}

func TestOlderProgramIsRefused(t *testing.T) {
	install := func(t *testing.T, h *testHost, version string, allow bool) error {
		t.Helper()
		in := h.on().installer()
		in.Version = version
		o := options(Hardened)
		o.AllowDowngrade = allow
		return in.Install(t.Context(), o)
	}
	onHosts(t, "unless it is allowed", 2, func(t *testing.T, all []*testHost) {
		must(t, install(t, all[1], "v0.3.0", false))
		before := all[0].on().snapshot()
		mentions(t, install(t, all[0], "v0.2.0", false),
			"cannot install with bulkhead v0.2.0: host cp-2 has bulkhead v0.3.0, which is newer. Use that program, or "+
				"--allow-downgrade")
		all[0].mustBe(before)
		must(t, install(t, all[0], "v0.2.0", true))
		all[0].says("--allow-downgrade: cannot install with bulkhead v0.2.0")
		must(t, install(t, all[1], "v0.3.1", false))
	})
	onHosts(t, "also on the host that has the newer version", 1, func(t *testing.T, all []*testHost) {
		must(t, install(t, all[0], "v0.3.0", false))
		mentions(t, install(t, all[0], "v0.2.0", false), "host cp-1 has bulkhead v0.3.0, which is newer")
		must(t, install(t, all[0], "v0.3.0", false))
	})
	onHosts(t, "also a program of an earlier commit", 2, func(t *testing.T, all []*testHost) {
		built := func(h *testHost, version, committed string) error {
			in := h.on().installer()
			in.Version, in.Committed = version, committed
			return in.Install(t.Context(), options(Hardened))
		}
		must(t, built(all[1], "v0.0.0-gfedcba987654", "2026-11-02T00:00:00Z"))
		before := all[0].on().snapshot()
		mentions(t, built(all[0], "v0.0.0-g0123456789ab", "2026-11-01T00:00:00Z"), "which is newer")
		all[0].mustBe(before)
		must(t, built(all[0], "v0.0.0-gaaaaaaaaaaaa", "2026-11-03T00:00:00Z"))
	})
	onHosts(t, "version dev is only a note", 2, func(t *testing.T, all []*testHost) {
		must(t, install(t, all[1], "v0.3.0", false))
		must(t, install(t, all[0], "dev", false))
		all[0].says("these versions cannot be compared")
	})
}
