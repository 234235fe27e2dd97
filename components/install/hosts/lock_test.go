// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/install/installtest"
)

var errRefused = errors.New("connection refused")

// betweenRenewals moves a test's step away from a renewal. Of two goroutines that wake at the same
// time, either may run first.
const betweenRenewals = renewInterval / 2

func lockFor(leases Leases, node string) *Lock { return NewLock(leases, node, time.Minute, time.Now) }

// inTime runs a test with a clock that moves when all goroutines wait.
func inTime(t *testing.T, name string, test func(*testing.T, *installtest.Leases)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, &installtest.Leases{}) })
	})
}

func TestLock(t *testing.T) {
	inTime(t, "other host: refused with its name and the time, until it is released", func(t *testing.T,
		leases *installtest.Leases) {
		first, second := lockFor(leases, "cp-1"), lockFor(leases, "cp-2")
		since := time.Now().UTC().Format(time.RFC3339)
		must(t, first.Acquire(t.Context()))
		time.Sleep(10 * time.Minute)
		err := second.Acquire(t.Context())
		if !errors.As(err, &HeldError{}) {
			t.Errorf("error is %v", err)
		}
		mentions(t, err, `bulkhead runs on host "cp-1" since `+since+". Wait until it has ended")
		if by := first.Release(); by != "" || len(leases.Names()) != 0 {
			t.Errorf("taken by %q; left are %v", by, leases.Names())
		}
		must(t, second.Acquire(t.Context()))
		second.Release()
	})
	inTime(t, "killed run: other host after it expired, own host at once", func(t *testing.T, leases *installtest.Leases) {
		_, err := leases.Create(t.Context(), lockFor(leases, "cp-1").claim(nil), metav1.CreateOptions{})
		must(t, err)
		other, own := lockFor(leases, "cp-2"), lockFor(leases, "cp-1")
		mentions(t, other.Acquire(t.Context()), "cp-1")
		must(t, own.Acquire(t.Context()))
		own.Release()
		_, err = leases.Create(t.Context(), lockFor(leases, "cp-1").claim(nil), metav1.CreateOptions{})
		must(t, err)
		time.Sleep(59 * time.Second)
		mentions(t, other.Acquire(t.Context()), "cp-1")
		time.Sleep(2 * time.Second)
		must(t, other.Acquire(t.Context()))
		other.Release()
	})
	inTime(t, "API does not answer for a while: the lock goes on", func(t *testing.T, leases *installtest.Leases) {
		first, second := lockFor(leases, "cp-1"), lockFor(leases, "cp-2")
		must(t, first.Acquire(t.Context()))
		leases.Before(func(string) error { return errRefused })
		time.Sleep(40 * time.Second)
		leases.Before(nil)
		time.Sleep(40 * time.Second)
		mentions(t, second.Acquire(t.Context()), "cp-1")
		first.Release()
	})
	inTime(t, "Lease is deleted: created again", func(t *testing.T, leases *installtest.Leases) {
		first := lockFor(leases, "cp-1")
		must(t, first.Acquire(t.Context()))
		must(t, leases.Delete(t.Context(), LeaseName, metav1.DeleteOptions{}))
		time.Sleep(10 * time.Second)
		mentions(t, lockFor(leases, "cp-2").Acquire(t.Context()), "cp-1")
		first.Release()
	})
	inTime(t, "other host takes over: reported, and its Lease stays", func(t *testing.T, leases *installtest.Leases) {
		first, second := lockFor(leases, "cp-1"), lockFor(leases, "cp-2")
		must(t, first.Acquire(t.Context()))
		leases.Before(func(string) error { return errRefused })
		time.Sleep(2*time.Minute + betweenRenewals)
		leases.Before(nil)
		must(t, second.Acquire(t.Context()))
		time.Sleep(time.Minute)
		if by := first.Release(); by != "cp-2" || len(leases.Names()) != 1 {
			t.Errorf("taken by %q; left are %v", by, leases.Names())
		}
		second.Release()
	})
	inTime(t, "API does not answer: an error that is not HeldError", func(t *testing.T, leases *installtest.Leases) {
		leases.Before(func(string) error { return errRefused })
		l := lockFor(leases, "cp-1")
		err := l.Acquire(t.Context())
		mentions(t, err, "cannot lock the control plane by Lease bulkhead-installer: connection refused")
		if errors.As(err, &HeldError{}) {
			t.Error("it says that another host has the lock")
		}
		l.Release()
	})
	inTime(t, "two at the same time: one gets it, the other names it", func(t *testing.T, leases *installtest.Leases) {
		first, second := lockFor(leases, "cp-1"), lockFor(leases, "cp-2")
		leases.Before(func(verb string) error {
			if verb == "create" {
				return second.Acquire(t.Context())
			}
			return nil
		})
		if err := first.Acquire(t.Context()); !errors.As(err, &HeldError{}) {
			t.Errorf("error is %v", err)
		}
		leases.Before(nil)
		second.Release()
	})
	inTime(t, "acquired twice: released once", func(t *testing.T, leases *installtest.Leases) {
		l := lockFor(leases, "cp-1")
		must(t, l.Acquire(t.Context()))
		must(t, l.Acquire(t.Context()))
		l.Release()
		l.Release()
		if len(leases.Names()) != 0 {
			t.Errorf("left are %v", leases.Names())
		}
	})
}

// renewedIn returns a Lease of a clock that is ahead.
func renewedIn(d time.Duration) func(*coordinationv1.LeaseSpec) {
	return func(s *coordinationv1.LeaseSpec) { s.RenewTime = new(metav1.NewMicroTime(s.RenewTime.Add(d))) }
}

func TestLeaseThatNoInstallerWritesIsFree(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(*coordinationv1.LeaseSpec)
		free  bool
	}{
		{"complete: held", func(*coordinationv1.LeaseSpec) {}, false},
		{"empty", func(s *coordinationv1.LeaseSpec) { *s = coordinationv1.LeaseSpec{} }, true},
		{"no holder", func(s *coordinationv1.LeaseSpec) { s.HolderIdentity = nil }, true},
		{"empty holder", func(s *coordinationv1.LeaseSpec) { s.HolderIdentity = new("") }, true},
		{"no renewal", func(s *coordinationv1.LeaseSpec) { s.RenewTime = nil }, true},
		{"no duration", func(s *coordinationv1.LeaseSpec) { s.LeaseDurationSeconds = nil }, true},
		{"negative duration", func(s *coordinationv1.LeaseSpec) { s.LeaseDurationSeconds = new(int32(-1)) }, true},
		{"one hour: held", func(s *coordinationv1.LeaseSpec) { s.LeaseDurationSeconds = new(int32(3600)) }, false},
		{"more than an hour", func(s *coordinationv1.LeaseSpec) { s.LeaseDurationSeconds = new(int32(3601)) }, true},
		{"renewed in an hour: held", renewedIn(time.Hour), false},
		{"renewed later", renewedIn(time.Hour + time.Second), true},
		{"no time of acquisition: held", func(s *coordinationv1.LeaseSpec) { s.AcquireTime = nil }, false},
	} {
		inTime(t, tc.name, func(t *testing.T, leases *installtest.Leases) {
			lease := lockFor(leases, "cp-1").claim(nil)
			tc.spoil(&lease.Spec)
			_, err := leases.Create(t.Context(), lease, metav1.CreateOptions{})
			must(t, err)
			l := lockFor(leases, "cp-2")
			if err := l.Acquire(t.Context()); (err == nil) != tc.free {
				t.Errorf("error is %v", err)
			}
			l.Release()
		})
	}
}
