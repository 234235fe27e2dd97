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

func TestOnlyWatchesAreLate(t *testing.T) {
	const delay = 300 * time.Millisecond
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "broken") {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, "event")
		_ = http.NewResponseController(w).Flush()
	}))
	defer server.Close()
	target, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(newProxy(target, http.DefaultTransport, delay))
	defer proxy.Close()
	for _, tc := range []struct {
		name, path, want string
		late             bool
	}{
		{"a watch is", "/api/v1/pods?watch=true", "event", true},
		{"a watch in other words is", "/api/v1/pods?watch=1", "event", true},
		{"a list is not", "/api/v1/pods", "event", false},
		{"a watch that was refused is not", "/broken?watch=true", "no\n", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			begun := time.Now()
			response, err := http.Get(proxy.URL + tc.path)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if late := time.Since(begun) >= delay; err != nil || string(body) != tc.want || late != tc.late {
				t.Errorf("got %q, %v, late %v; want %q, late %v", body, err, late, tc.want, tc.late)
			}
		})
	}
}
