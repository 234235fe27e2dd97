// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/installtest"
)

// The disk stays full while the installation is rolled back.
func TestNodeInstallOnAFullDiskRestoresTheKubelet(t *testing.T) {
	for _, start := range everyNode {
		count := 0
		onNode(t, start.name+", disk with space: succeeds", func(t *testing.T, n *testNode) {
			start.prepare(t, n)
			disk := installtest.NewDisk(t)
			must(t, n.installer().Install(t.Context(), kubeletOptions))
			count = disk.Written
		})
		for free := range count {
			onNode(t, fmt.Sprintf("%s, disk full after %d of %d files: rolled back", start.name, free, count),
				func(t *testing.T, n *testNode) {
					start.prepare(t, n)
					before := n.snapshot()
					disk := installtest.NewDisk(t)
					disk.Free = free
					err := n.installer().Install(t.Context(), kubeletOptions)
					if !errors.Is(err, syscall.ENOSPC) {
						t.Errorf("error is %v", err)
					}
					mentions(t, err, "rolled back: nothing has been changed")
					n.mustBe(before)
				})
		}
	}
}

func TestNodeUninstallNeedsNoSpace(t *testing.T) {
	onNode(t, "node uninstall on a full disk: restores the node", func(t *testing.T, n *testNode) {
		before := n.snapshot()
		must(t, n.installer().Install(t.Context(), kubeletOptions))
		installtest.NewDisk(t).Free = 0
		must(t, n.installer().Uninstall(t.Context(), time.Minute))
		n.mustBe(before)
	})
}
