// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/component-base/metrics/testutil"
)

// fill takes streams of a user for a namespace until the namespace has its share. It releases the
// last stream, which would have been denied.
func fill(s *shares, user, namespace string) (taken int) {
	for {
		release, within := s.take(user, namespace)
		if !within {
			release()
			return taken
		}
		taken++
	}
}

func TestSharesOfNamespaces(t *testing.T) {
	s := newShares(2000)
	if got := fill(s, "api", "greedy"); got != 1000 {
		t.Errorf("one namespace has %d of 2000", got)
	}
	if got := fill(s, "api", "other"); got != 500 {
		t.Errorf("the next has %d", got)
	}
	for i := range 8 {
		if got := fill(s, "api", fmt.Sprint("more", i)); got == 0 {
			t.Errorf("after %d namespaces that take all they can, another gets no stream", i+2)
		}
	}
	// Another user has its own streams.
	if got := fill(s, "other", "greedy"); got != 1000 {
		t.Errorf("another user has %d", got)
	}
}

func TestSharesAreEqualInTime(t *testing.T) {
	s := newShares(300)
	var releases [2][]func()
	// Streams start and end. Both namespaces ask for a new stream whenever a place is free.
	for i := range 10_000 {
		of := i % 2
		if release, within := s.take("api", fmt.Sprint(of)); within {
			releases[of] = append(releases[of], release)
		} else {
			release()
		}
		if i%3 == 0 && len(releases[of]) > 0 {
			releases[of][0]()
			releases[of] = releases[of][1:]
		}
	}
	for of, held := range releases {
		if len(held) < 95 || len(held) > 105 {
			t.Errorf("namespace %d has %d of 300, want about 100", of, len(held))
		}
	}
}

func TestNamespaceSharesAreReleased(t *testing.T) {
	s := newShares(4)
	var releases []func()
	for i := range 4 {
		release, _ := s.take("api", fmt.Sprint(i%2))
		releases = append(releases, release)
	}
	for _, release := range releases {
		release()
	}
	if len(s.users) != 0 {
		t.Errorf("left: %v", s.users)
	}
}

// The second stream of a namespace exceeds its share of two places. The first stream of another
// namespace does not.
func TestOneNamespaceCannotTakeAllStreams(t *testing.T) {
	for _, tt := range []struct {
		name           string
		enforce, audit []string
		path           string
		code           int
	}{
		{"enforced, the same namespace", []string{"KA-LIMIT-2"}, nil, "/exec/ns/pod/c", http.StatusTooManyRequests},
		{"enforced, another namespace", []string{"KA-LIMIT-2"}, nil, "/exec/other/pod/c", http.StatusOK},
		{"enforced, a request that is not a stream", []string{"KA-LIMIT-2"}, nil, "/pods", http.StatusOK},
		{"audited, the same namespace", nil, []string{"KA-LIMIT-2"}, "/exec/ns/pod/c", http.StatusOK},
		{"off, the same namespace", nil, nil, "/exec/ns/pod/c", http.StatusOK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := start(t, newStreaming(t), func(s *settings) {
				s.limits.Streams, s.enforce, s.audit = 2, tt.enforce, tt.audit
			})
			if _, _, err := w.websocket("/exec/ns/pod/c"); err != nil {
				t.Fatal(err)
			}
			got := w.do(w.client(w.admin(), false), http.MethodGet, tt.path, nil)
			refused := tt.code != http.StatusOK
			if got.code != tt.code || refused != strings.HasSuffix(got.body, "[KA-LIMIT-2]\n") || refused &&
				got.header.Get("Retry-After") != "1" {
				t.Errorf("answered %d %s %v", got.code, got.body, got.header)
			}
			counted, err := testutil.GetCounterMetricValue(w.handler.metrics.audited.WithLabelValues("KA-LIMIT-2"))
			if err != nil || (counted == 1) != (tt.audit != nil) {
				t.Errorf("counted %v times (%v)", counted, err)
			}
		})
	}
}

// The namespace in a path is any text from the client. It counts like every other namespace.
func TestSharesOfStrangeNamespaces(t *testing.T) {
	s := newShares(100)
	for _, namespace := range []string{"", "\x00", strings.Repeat("x", 1<<16), "a/b", "\xff"} {
		if fill(s, "api", namespace) == 0 {
			t.Errorf("%.10q has no share", namespace)
		}
	}
}
