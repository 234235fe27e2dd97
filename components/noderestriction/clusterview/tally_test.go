// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package clusterview

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
)

const (
	signingPath = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
	client      = noderestriction.ClientSigner
	serving     = noderestriction.ServingSigner
	others      = noderestriction.OtherSigners
)

func signing(user, signer string) string {
	return fmt.Sprintf(`{"spec":{"username":%q,"signerName":%q}}`, user, signer)
}

// counts are those of the node me: client, serving, others.
func counts(v *View) [3]int {
	return [3]int{
		v.SigningRequests("me", client, 1000, false), v.SigningRequests("me", serving, 1000, false),
		v.SigningRequests("me", others, 1000, false),
	}
}

func TestSigningRequestsAreCountedBySigner(t *testing.T) {
	items := append(many(7, signing("system:node:me", "kubernetes.io/kube-apiserver-client-kubelet"),
		signing("system:node:me", "kubernetes.io/kubelet-serving"),
		signing("system:node:me", "example.com/a"), signing("system:node:me", "example.com/b"),
		signing("system:node:me2", "kubernetes.io/kubelet-serving"),
		signing("me", "kubernetes.io/kubelet-serving"), signing("system:node:", "kubernetes.io/kubelet-serving")),
		many(60, signing("admin", "example.com/a"))...)
	w := newWorld(t, list(signingPath, items...))
	if err := w.tally(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := counts(w.View), [3]int{7, 7, 14}; got != want {
		t.Errorf("counted %v, want %v", got, want)
	}
	if got := w.SigningRequests("me", others, 10, false); got != 10 {
		t.Errorf("%d, more than the limit is the limit", got)
	}
	want := []string{"GET " + signingPath + "?limit=25"}
	for _, from := range []string{"25", "50", "75", "100"} {
		want = append(want, "GET "+signingPath+"?continue="+from+"&limit=25")
	}
	if diff := cmp.Diff(want, w.api.requests()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	counts(w.View)
	if asked := w.api.requests(); asked != nil {
		t.Errorf("a question makes the call %v", asked)
	}
}

func TestWhatIsTakenIsCountedAtOnce(t *testing.T) {
	var v View
	for i, want := range []int{0, 1, 2, 2} {
		if got := v.SigningRequests("me", client, 2, true); got != want {
			t.Errorf("question %d is answered %d, want %d", i+1, got, want)
		}
	}
	if got, want := counts(&v), [3]int{2, 0, 0}; got != want {
		t.Errorf("counted %v, want %v", got, want)
	}
}

// stored is an API server with so many requests of the node me, which can fail.
type stored struct {
	requests, calls atomic.Int64
	failing         atomic.Bool
	// during runs while a list is made.
	during func()
}

func (s *stored) view(t *testing.T) *View {
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
	return New(Config{Client: clientset, Memory: noMemory{}, Registry: metrics.NewKubeRegistry()})
}

// run keeps the tally until the test is over.
func (s *stored) run(t *testing.T, v *View) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		v.keepTally(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	synctest.Wait()
}

// A list that fails lifts no bound: what was counted last stays, and so does what was
// admitted since.
func TestAFailedTallyLiftsNoBound(t *testing.T) {
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

// Before the first good count there is what this process has admitted itself.
func TestATallyThatNeverSucceeds(t *testing.T) {
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

// What is admitted while a list is made may be in it or not: it stays counted until
// the next one.
func TestWhatIsAdmittedDuringATally(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stored{}
		v := s.view(t)
		v.SigningRequests("me", client, 100, true)
		s.requests.Store(1)
		s.during = func() { v.SigningRequests("me", client, 100, true) }
		if err := v.tally(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := counts(v)[0]; got != 2 {
			t.Errorf("%d: one is listed, and one was admitted since the list began", got)
		}
		s.during = nil
		s.requests.Store(2)
		if err := v.tally(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := counts(v)[0]; got != 2 {
			t.Errorf("%d: both are listed", got)
		}
	})
}

func TestATallyComesEveryHalfMinuteOrSo(t *testing.T) {
	for _, tt := range []struct {
		name        string
		wants       func() bool
		took        time.Duration
		least, most int64
	}{
		{"as it is", nil, 0, 15, 21},
		{"as long as somebody wants to know", func() bool { return true }, 0, 15, 21},
		{"nobody wants to know", func() bool { return false }, 0, 0, 0},
		{"slow lists are fewer", nil, 15 * time.Second, 3, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &stored{during: func() { time.Sleep(tt.took) }}
				v := s.view(t)
				v.wantsTally = tt.wants
				s.run(t, v)
				time.Sleep(10 * time.Minute)
				if n := s.calls.Load(); n < tt.least || n > tt.most {
					t.Errorf("%d lists in ten minutes, want %d to %d", n, tt.least, tt.most)
				}
			})
		})
	}
}
