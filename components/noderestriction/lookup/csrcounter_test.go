// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"fmt"
	"strings"
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
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

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

// counts returns the counts of the node me, for the groups client, serving and others.
func counts(v *Cluster) [3]int {
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
	if err := w.countOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := counts(w.Cluster), [3]int{7, 7, 14}; got != want {
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
	counts(w.Cluster)
	if asked := w.api.requests(); asked != nil {
		t.Errorf("a question makes the call %v", asked)
	}
}

func TestAdmittedRequestIsCountedAtOnce(t *testing.T) {
	var v Cluster
	for i, want := range []int{0, 1, 2, 2} {
		if got := v.SigningRequests("me", client, 2, true); got != want {
			t.Errorf("question %d is answered %d, want %d", i+1, got, want)
		}
	}
	if got, want := counts(&v), [3]int{2, 0, 0}; got != want {
		t.Errorf("counted %v, want %v", got, want)
	}
}

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

// If there are more requests than can be read, those that were read count. Admitted requests that
// are not among them count too.
func TestMoreRequestsThanTheCounterLists(t *testing.T) {
	mine := signing("system:node:me", "kubernetes.io/kubelet-serving")
	rest := many(maxTallied, signing("admin", "example.com/a"))
	three, two := list(signingPath, append(many(3, mine), rest...)...),
		list(signingPath, append(many(2, mine), rest...)...)
	w := newWorld(t, three)
	var log strings.Builder
	ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
	for _, tt := range []struct {
		name  string
		list  *api
		admit bool
		want  int
	}{
		{"list includes the admitted request", three, true, 3},
		{"same list again", three, false, 3},
		{"list without the admitted request", three, true, 4},
		{"list without other requests", two, false, 4},
		{"list with all requests again", three, false, 4},
	} {
		w.api.answer = tt.list.answer
		if tt.admit {
			w.SigningRequests("me", serving, 10, true)
		}
		if err := w.countOnce(ctx); err != nil {
			t.Fatal(err)
		}
		if got, want := counts(w.Cluster), [3]int{0, tt.want, 0}; got != want {
			t.Errorf("%s: counted %v, want %v", tt.name, got, want)
		}
		if n := len(w.api.requests()); n != maxTallied/countPage {
			t.Errorf("%s: %d pages were read", tt.name, n)
		}
	}
	if n := strings.Count(log.String(), "There are more certificate signing requests than are counted"); n != 1 {
		t.Errorf("logged %d times: %s", n, &log)
	}
}

// TestUnlistedAdmittedRequestsExpire checks that an admitted request expires, but not within a day.
func TestUnlistedAdmittedRequestsExpire(t *testing.T) {
	me := askedFor{"me", client}
	for _, tt := range []struct {
		name      string
		countOnce func(*signingRequests)
	}{
		{"all tallies fail", func(*signingRequests) {}},
		{"no tally sees all", func(s *signingRequests) { s.end(nil, false) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s signingRequests
				pass := func(hours int) {
					for range 2 * hours {
						s.begin(time.Now())
						tt.countOnce(&s)
						time.Sleep(30 * time.Minute)
					}
				}
				pass(20)
				s.count(me, 2, true)
				pass(25)
				s.count(me, 2, true)
				if got := s.count(me, 2, true); got != 2 {
					t.Errorf("after a day %d count, want both", got)
				}
				pass(23)
				if got := s.count(me, 2, false); got != 1 {
					t.Errorf("after two days %d count, want the later one", got)
				}
				pass(26)
				if got := s.count(me, 2, false); got != 0 {
					t.Errorf("two days after the last %d count", got)
				}
			})
		})
	}
}

// TestDeletedRequestsExpire checks that deleted requests expire even if there are too many requests
// of other nodes.
func TestDeletedRequestsExpire(t *testing.T) {
	me := askedFor{"me", client}
	synctest.Test(t, func(t *testing.T) {
		var s signingRequests
		for hour, want := range map[int]int{1: 5, 23: 5, 49: 2} {
			s = signingRequests{}
			s.begin(time.Now())
			s.end(map[askedFor]int{me: 5}, true)
			for range hour {
				s.begin(time.Now())
				s.end(map[askedFor]int{me: 2}, false)
				time.Sleep(time.Hour)
			}
			if got := s.count(me, 10, false); got != want {
				t.Errorf("after %d h %d count, want %d", hour, got, want)
			}
		}
	})
}

func TestCounterMemoryIsBounded(t *testing.T) {
	var v Cluster
	for i := range maxTallied + 10 {
		v.SigningRequests(fmt.Sprint(i), client, 2, true)
	}
	v.signing.begin(start)
	for i := range maxTallied + 10 {
		v.SigningRequests(fmt.Sprint("x", i), client, 2, true)
	}
	v.signing.begin(start)
	if len(v.signing.before) != maxTallied || len(v.signing.since) != 0 {
		t.Errorf("%d and %d nodes", len(v.signing.before), len(v.signing.since))
	}
	v.signing.end(map[askedFor]int{{"y", client}: 5}, false)
	v.signing.end(nil, false)
	if len(v.signing.before) != maxTallied || v.signing.earlier != nil {
		t.Errorf("%d and %d nodes, of too many requests", len(v.signing.before), len(v.signing.earlier))
	}
	if got := v.SigningRequests("0", client, 2, false); got != 1 {
		t.Errorf("the first is forgotten: %d", got)
	}
}

func TestCountMetrics(t *testing.T) {
	w := newWorld(t, answers("403"))
	if err := w.countOnce(t.Context()); err == nil || !strings.Contains(err.Error(), "the server says 403") {
		t.Errorf("error %v", err)
	}
	w.wantLookups(t, "bulkhead_lookups_total{kind=\"certificatesigningrequests\",outcome=\"failed\"} 1\n")
	if at, err := testutil.GetGaugeMetricValue(w.metrics.tallied); at != 0 || err != nil {
		t.Errorf("tallied at %v, %v", at, err)
	}
	w.api.answer = list(signingPath).answer
	if err := w.countOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if at, err := testutil.GetGaugeMetricValue(w.metrics.tallied); at < 1e9 || err != nil {
		t.Errorf("tallied at %v, %v", at, err)
	}
}
