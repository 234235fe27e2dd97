// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLateKeepsIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay = 5 * time.Second
		source, sink := io.Pipe()
		l := newLate(source, delay)
		begun := time.Now()
		go func() {
			for _, word := range []string{"one", "two", "three"} {
				_, _ = sink.Write([]byte(word))
				time.Sleep(time.Second)
			}
			_ = sink.Close()
		}()
		got := map[string]time.Duration{}
		buffer := make([]byte, 8)
		var err error
		for err == nil {
			var n int
			if n, err = l.Read(buffer); n > 0 {
				got[string(buffer[:n])] = time.Since(begun)
			}
		}
		want := map[string]time.Duration{"one": delay, "two": delay + time.Second, "three": delay + 2*time.Second}
		if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, io.EOF) || time.Since(begun) != delay+3*time.Second {
			t.Errorf("ended after %s with %v, arrivals (-want +got):\n%s", time.Since(begun), err, diff)
		}
	})
}

func TestLateEndsWhenItIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, sink := io.Pipe()
		l := newLate(source, time.Hour)
		_, _ = sink.Write([]byte("never"))
		time.AfterFunc(time.Second, func() { _ = l.Close() })
		begun := time.Now()
		if n, err := l.Read(make([]byte, 8)); n != 0 || !errors.Is(err, io.ErrClosedPipe) ||
			time.Since(begun) != time.Second {
			t.Errorf("got %d bytes, %v after %s", n, err, time.Since(begun))
		}
	})
}

// upstream answers like an API server.
type upstream struct{}

func (upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	code, body := http.StatusOK, "event"
	if strings.Contains(r.URL.Path, "broken") {
		code, body = http.StatusForbidden, "no"
	}
	return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)),
		ContentLength: -1, Request: r}, nil
}

func TestOnlyWatchesAreLate(t *testing.T) {
	const delay = 5 * time.Second
	for _, tc := range []struct {
		name, path, want string
		took             time.Duration
	}{
		{"a watch is", "/api/v1/pods?watch=true", "event", delay},
		{"a watch in other words is", "/api/v1/pods?watch=1", "event", delay},
		{"a list is not", "/api/v1/pods", "event", 0},
		{"a watch that was refused is not", "/broken?watch=true", "no", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				proxy := newProxy(&url.URL{Scheme: "https", Host: "server.example"}, upstream{}, delay)
				begun, answer := time.Now(), httptest.NewRecorder()
				proxy.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, tc.path, nil))
				if took := time.Since(begun); answer.Body.String() != tc.want || took != tc.took {
					t.Errorf("got %q after %s, want %q after %s", answer.Body, took, tc.want, tc.took)
				}
			})
		})
	}
}
