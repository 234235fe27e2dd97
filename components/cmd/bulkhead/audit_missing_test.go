// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"
)

// TestMissingPartsOfALogAreNamed: Kubernetes gives the newest file of a log only, so a finding of a week
// ago may be gone.
func TestMissingPartsOfALogAreNamed(t *testing.T) {
	const week = 7 * 24 * time.Hour
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for _, row := range []struct {
		name     string
		log      podLog
		first    time.Time
		err      error
		mentions []string
	}{
		{"begins before --since", podLog{started: ago(2 * week)}, ago(8 * 24 * time.Hour), nil, nil},
		{"begins with its container", podLog{started: ago(time.Hour)}, ago(59 * time.Minute), nil, nil},
		{"a new file after --since", podLog{started: ago(2 * week)}, ago(24 * time.Hour), nil,
			[]string{"begins at 2026-01-14T12:00:00Z"}},
		{"a new file after the start", podLog{started: ago(48 * time.Hour)}, ago(24 * time.Hour), nil,
			[]string{"begins at 2026-01-14T12:00:00Z"}},
		{"empty", podLog{started: ago(48 * time.Hour)}, time.Time{}, io.EOF, nil},
		{"one restart", podLog{started: ago(time.Hour), restarts: 1}, ago(time.Hour), nil, nil},
		{"several restarts", podLog{started: ago(time.Hour), restarts: 3}, ago(time.Hour), nil,
			[]string{"has restarted 3 times"}},
		{"several restarts, before --since", podLog{started: ago(2 * week), restarts: 3}, ago(8 * 24 * time.Hour), nil, nil},
		{"the previous container", podLog{previous: true, restarts: 3}, now, nil, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.log.pod, row.log.container = "p", "node-authorizer"
			p := podLogs{since: week, first: func(context.Context, podLog) (time.Time, error) { return row.first, row.err }}
			notes := p.missing(t.Context(), row.log, now)
			if len(notes) != len(row.mentions) {
				t.Fatalf("got %q, want %q", notes, row.mentions)
			}
			for i, want := range row.mentions {
				if !strings.Contains(notes[i], want) {
					t.Errorf("want %q in %q", want, notes[i])
				}
			}
		})
	}
}
