// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/install/installtest"
)

// writes returns how many files a run writes on a new host.
func writes(t *testing.T, prepare, run func(*testing.T, *testHost)) (count int) {
	t.Helper()
	onHost(t, "disk with space: succeeds", func(t *testing.T, h *testHost) {
		prepare(t, h)
		disk := installtest.NewDisk(t)
		run(t, h)
		if count = disk.Written; count == 0 {
			t.Error("it writes no file, so its test on a full disk proves nothing")
		}
	})
	return count
}

// writeStride saves time: only every fifth write is the first one that fails. A changed file has up to
// four writes, so each kind of write fails in some step.
const writeStride = 5

// The disk stays full while the installation is rolled back.
func TestInstallOnAFullDiskChangesNothing(t *testing.T) {
	for _, start := range everyStart {
		count := writes(t, start.prepare, func(t *testing.T, h *testHost) {
			must(t, h.installer().Install(t.Context(), options(Hardened)))
		})
		for free := 0; free < count; free += writeStride {
			onHost(t, fmt.Sprintf("%s, disk full after %d of %d files: rolled back", start.name, free, count),
				func(t *testing.T, h *testHost) {
					start.prepare(t, h)
					before := h.snapshot()
					disk := installtest.NewDisk(t)
					disk.Free = free
					err := h.installer().Install(t.Context(), options(Hardened))
					if !errors.Is(err, syscall.ENOSPC) {
						t.Errorf("error is %v", err)
					}
					mentions(t, err, "rolled back: nothing has been changed")
					h.mustBe(before)
				})
		}
	}
}

func TestUninstallOnAFullDiskLosesNothing(t *testing.T) {
	install := func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), options(Hardened)))
	}
	count := writes(t, install, func(t *testing.T, h *testHost) {
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
	})
	for free := range count {
		onHost(t, fmt.Sprintf("disk full after %d of %d files: the next uninstall restores the host", free, count),
			func(t *testing.T, h *testHost) {
				before := h.snapshot()
				install(t, h)
				disk, wired := installtest.NewDisk(t), read(t, h.layout.APIServerManifest())
				disk.Free = free
				err := h.installer().Uninstall(t.Context(), options(Hardened).Timeout)
				if !errors.Is(err, syscall.ENOSPC) {
					t.Errorf("error is %v", err)
				}
				mentions(t, err, "run `bulkhead uninstall` again")
				if now := read(t, h.layout.APIServerManifest()); !bytes.Equal(now, wired) && !bytes.Equal(now, h.original) {
					t.Errorf("kube-apiserver's manifest is neither the old nor the new one:\n%s", now)
				}
				disk.Empty()
				must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
				h.mustBe(before)
			})
	}
}
