// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

var audited = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) time.Time { return audited.Add(-d) }

// TestLogsThatBeginLate: Kubernetes gives the newest file of a log only, and the logs of two containers.
// So a finding of a week ago may be gone.
func TestLogsThatBeginLate(t *testing.T) {
	type log struct {
		started, first time.Duration
		err            error
	}
	for _, row := range []struct {
		name string
		logs []log
		want string
	}{
		{"a file from before --since", []log{{14 * day, 8 * day, nil}}, ""},
		{"a container from before --since, which was quiet", []log{{8 * day, 8*day - time.Minute, nil}}, ""},
		{"a file after --since", []log{{14 * day, day, nil}}, "p 2026-01-14T12:00:00Z"},
		{"a container after --since", []log{{2 * day, 2*day - time.Minute, nil}}, "p 2026-01-13T12:00:00Z"},
		{"a file after the start of the container", []log{{2 * day, day, nil}}, "p 2026-01-14T12:00:00Z"},
		{"a new file without a line", []log{{14 * day, 0, io.EOF}}, "p 2026-01-15T12:00:00Z"},
		{"a time in the future", []log{{14 * day, -day, nil}}, "p 2026-01-15T12:00:00Z"},
		{"a restart, and the log before it", []log{{14 * day, 14 * day, nil}, {day, day, nil}}, ""},
		{"a restart, and a late log before it", []log{{14 * day, 3 * day, nil}, {day, day, nil}}, "p 2026-01-12T12:00:00Z"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := begins{}
			for _, l := range row.logs {
				b.add(t.Context(), podLog{pod: "p", started: before(l.started)}, audited,
					func(ctx context.Context, _ podLog) (time.Time, error) {
						if _, bounded := ctx.Deadline(); !bounded {
							t.Error("the question has no deadline")
						}
						return before(l.first), l.err
					})
			}
			want := row.want
			if want != "" {
				want = "logs begin later than --since, so earlier findings are not in them: " + want + ". For all requests " +
					"since a component has started, read its metrics with --metrics=FILE"
			}
			if got := b.note(before(7 * day)); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestTheNoteAboutLogsIsShort(t *testing.T) {
	b := begins{}
	for _, pod := range []string{"a", "b", "c", "d", "e", "f", "g\x1b"} {
		b[pod] = audited
	}
	const at = " 2026-01-15T12:00:00Z"
	want := "logs begin later than --since, so earlier findings are not in them: a" + at + ", b" + at + ", c" + at +
		", d" + at + ", e" + at + " and 2 more. " +
		"For all requests since a component has started, read its metrics with --metrics=FILE"
	if got := b.note(before(7 * day)); got != want {
		t.Errorf("got %q", got)
	}
}

// TestFirstLineOfALog sends what a kubelet answers, cut off after LimitBytes.
func TestFirstLineOfALog(t *testing.T) {
	for _, row := range []struct {
		name, body string
		code       int
		want       time.Time
	}{
		{"a line", "2026-01-15T12:00:00.000000001Z I0115 12:00:00.000 1 x.go:1] Starting the prog", 200, audited.Add(1)},
		{"no line", "", 200, time.Time{}},
		{"not a time", "<html> x", 200, time.Time{}},
		{"an error", "2026-01-15T12:00:00Z x", 500, time.Time{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if q := r.URL.Query(); q.Get("timestamps") != "true" || q.Get("limitBytes") != "64" || q.Get("sinceSeconds") != "" {
					t.Errorf("asked %s", r.URL)
				}
				w.WriteHeader(row.code)
				_, _ = w.Write([]byte(row.body))
			}))
			defer server.Close()
			first := firstOfPodLog(kubernetes.NewForConfigOrDie(&rest.Config{Host: server.URL}))
			got, err := first(t.Context(), podLog{pod: "p"})
			if !got.Equal(row.want) || (err == nil) == row.want.IsZero() {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}
