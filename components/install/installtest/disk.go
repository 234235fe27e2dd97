// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package installtest

import (
	"math"
	"syscall"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// Disk is the disk of a host. It counts the files that are written, and it can be full.
type Disk struct {
	// Free is the number of files that can still be written. Any later one fails with ENOSPC, after
	// the first half of its bytes.
	Free int
	// Written is the number of files that were written.
	Written int
}

// NewDisk returns the disk to which all files of this test are written. It has space.
func NewDisk(t *testing.T) *Disk {
	t.Helper()
	d := &Disk{Free: math.MaxInt}
	t.Cleanup(atomicfile.OnWrite(func() error {
		if d.Free <= 0 {
			return syscall.ENOSPC
		}
		d.Free--
		d.Written++
		return nil
	}))
	return d
}

// Empty gives the disk space again.
func (d *Disk) Empty() { d.Free = math.MaxInt }
