// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/component-base/metrics"
)

// stored is an API server with a number of requests of the node me. It can fail.
type stored struct {
	requests, calls atomic.Int64
	failing         atomic.Bool
	// during runs while a list is in progress.
	during func()
}

func (s *stored) view(t *testing.T) *Cluster {
	t.Helper()
	clientset := fake.NewClientset()
	clientset.PrependReactor("list", "certificatesigningrequests",
		func(clienttesting.Action) (bool, runtime.Object, error) {
			s.calls.Add(1)
			if s.failing.Load() {
				return true, nil, apierrors.NewServiceUnavailable("away")
			}
			page := &certificatesv1.CertificateSigningRequestList{}
			for range s.requests.Load() {
				page.Items = append(page.Items,
					certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{
						Username: "system:node:me", SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName,
					}})
			}
			if s.during != nil {
				s.during()
			}
			return true, page, nil
		})
	return New(Config{Client: clientset, NodeHistory: noHistory{}, Registry: metrics.NewKubeRegistry()})
}

// run counts periodically until the test ends.
func (s *stored) run(t *testing.T, v *Cluster) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		v.runCounter(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	synctest.Wait()
}

// A list that fails does not remove a limit. The last count stays in force, and admitted requests
// still count.
func TestFailedCountKeepsTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stored{}
		s.requests.Store(3)
		v := s.view(t)
		s.run(t, v)
		expect := func(when string, want int) {
			t.Helper()
			if got := v.SigningRequests("me", client, 5, false); got != want {
				t.Errorf("%s: %d, want %d", when, got, want)
			}
		}
		expect("counted", 3)
		s.failing.Store(true)
		v.SigningRequests("me", client, 5, true)
		time.Sleep(10 * time.Minute)
		expect("after ten minutes without an answer", 4)
		v.SigningRequests("me", client, 5, true)
		v.SigningRequests("me", client, 5, true)
		time.Sleep(10 * time.Minute)
		expect("at the bound", 5)
		s.failing.Store(false)
		time.Sleep(time.Minute)
		expect("once it is counted again", 3)
	})
}

// Before the first good count, only requests that this process has admitted count.
func TestCountThatNeverSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stored{}
		s.failing.Store(true)
		v := s.view(t)
		s.run(t, v)
		for range 3 {
			v.SigningRequests("me", client, 2, true)
			time.Sleep(time.Minute)
		}
		if got := v.SigningRequests("me", client, 2, true); got != 2 {
			t.Errorf("%d", got)
		}
	})
}

// A list may or may not include what is admitted while it runs. Such a request counts until the
// next list.
func TestRequestsAdmittedDuringACount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stored{}
		v := s.view(t)
		v.SigningRequests("me", client, 100, true)
		s.requests.Store(1)
		s.during = func() { v.SigningRequests("me", client, 100, true) }
		if err := v.countOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := counts(v)[0]; got != 2 {
			t.Errorf("%d: one is listed, and one was admitted since the list began", got)
		}
		s.during = nil
		s.requests.Store(2)
		if err := v.countOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := counts(v)[0]; got != 2 {
			t.Errorf("%d: both are listed", got)
		}
	})
}

func TestCountInterval(t *testing.T) {
	for _, tt := range []struct {
		name        string
		wants       func() bool
		took        time.Duration
		least, most int64
	}{
		{"as it is", nil, 0, 15, 21},
		{"counting while requests need it", func() bool { return true }, 0, 15, 21},
		{"no request needs the count", func() bool { return false }, 0, 0, 0},
		{"slow lists are fewer", nil, 15 * time.Second, 3, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &stored{during: func() { time.Sleep(tt.took) }}
				v := s.view(t)
				v.wantsCount = tt.wants
				s.run(t, v)
				time.Sleep(10 * time.Minute)
				if n := s.calls.Load(); n < tt.least || n > tt.most {
					t.Errorf("%d lists in ten minutes, want %d to %d", n, tt.least, tt.most)
				}
			})
		})
	}
}
