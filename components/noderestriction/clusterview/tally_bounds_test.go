// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package clusterview

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/component-base/metrics/testutil"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// Of more than can be read, those that were read count, and so does what was admitted
// and is not among them.
func TestMoreRequestsThanCanBeTallied(t *testing.T) {
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
		{"what was admitted is among them", three, true, 3},
		{"nothing is new", three, false, 3},
		{"what was admitted is not among them", three, true, 4},
		{"nor are others that were", two, false, 4},
		{"and now they are again", three, false, 4},
	} {
		w.api.answer = tt.list.answer
		if tt.admit {
			w.SigningRequests("me", serving, 10, true)
		}
		if err := w.tally(ctx); err != nil {
			t.Fatal(err)
		}
		if got, want := counts(w.View), [3]int{0, tt.want, 0}; got != want {
			t.Errorf("%s: counted %v, want %v", tt.name, got, want)
		}
		if n := len(w.api.requests()); n != maxTallied/tallyPage {
			t.Errorf("%s: %d pages were read", tt.name, n)
		}
	}
	if n := strings.Count(log.String(), "There are more certificate signing requests than are counted"); n != 1 {
		t.Errorf("logged %d times: %s", n, &log)
	}
}

// TestWhatNoTallyHasSeenIsLetGo, but not within a day.
func TestWhatNoTallyHasSeenIsLetGo(t *testing.T) {
	me := askedFor{"me", client}
	for _, tt := range []struct {
		name  string
		tally func(*signingRequests)
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
						tt.tally(&s)
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

// TestWhatWasListedIsLetGo: requests that are removed do not count for ever because
// there are too many of others.
func TestWhatWasListedIsLetGo(t *testing.T) {
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

func TestTheTallyHoldsBoundedMemory(t *testing.T) {
	var v View
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

func TestATallyIsMeasured(t *testing.T) {
	w := newWorld(t, answers("403"))
	if err := w.tally(t.Context()); err == nil || !strings.Contains(err.Error(), "the server says 403") {
		t.Errorf("error %v", err)
	}
	w.wantLookups(t, "bulkhead_lookups_total{kind=\"certificatesigningrequests\",outcome=\"failed\"} 1\n")
	if at, err := testutil.GetGaugeMetricValue(w.metrics.tallied); at != 0 || err != nil {
		t.Errorf("tallied at %v, %v", at, err)
	}
	w.api.answer = list(signingPath).answer
	if err := w.tally(t.Context()); err != nil {
		t.Fatal(err)
	}
	if at, err := testutil.GetGaugeMetricValue(w.metrics.tallied); at < 1e9 || err != nil {
		t.Errorf("tallied at %v, %v", at, err)
	}
}
