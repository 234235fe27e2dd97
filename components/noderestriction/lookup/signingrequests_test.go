// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

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
