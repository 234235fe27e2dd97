// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestRenewalsDoNotMeet tries to take the lock while a renewal reads the clock.
func TestRenewalsDoNotMeet(t *testing.T) {
	now := begin
	k := testKeeper(t, &now)
	k.Lock = filepath.Dir(k.Leaves[0].CertFile)
	tried := 0
	k.Now = func() time.Time {
		tried++
		other, err := os.Open(k.Lock)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = other.Close() }()
		if err := syscall.Flock(int(other.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
			t.Errorf("a second renewal gets the lock: %v", err)
		}
		return now
	}
	renew(t, k, true)
	renew(t, k, true) // the first renewal has released the lock
	if tried == 0 {
		t.Error("no renewal looked at the clock")
	}
	k.Lock = filepath.Join(k.Lock, "none")
	if _, err := k.Renew(true); err == nil {
		t.Error("it renews without the lock that it was told to take")
	}
}
