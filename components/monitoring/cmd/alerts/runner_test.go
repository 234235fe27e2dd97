// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// world is a cluster with one alert, which fires some time after the break.
type world struct {
	broken, repaired, restored atomic.Int64
	// fireAfter is the time from the break to the alert; 0 means never. stuck alerts do not resolve.
	fireAfter time.Duration
	stuck     bool
	// before is true if the alert fires without a break.
	before bool
}

// active returns the alerts at a time.
func (w *world) active(now time.Time) []activeAlert {
	alert := []activeAlert{{Labels: map[string]string{labelAlert: "A", "job": "j"}, State: stateFiring}}
	began, ended := w.broken.Load(), w.repaired.Load()
	switch {
	case w.before:
		return alert
	case began == 0 || w.fireAfter == 0 || now.Sub(time.UnixMilli(began)) < w.fireAfter:
		return nil
	case ended > 0 && !w.stuck:
		return nil
	}
	return alert
}

// breakage breaks and repairs the world.
func (w *world) breakage() *breakage {
	now := func(into *atomic.Int64) step {
		return func(context.Context) error {
			into.Store(time.Now().UnixMilli())
			return nil
		}
	}
	return &breakage{causes: []cause{{"A", map[string]string{"job": "j"}}}, broken: "B.", repaired: "R.",
		begin: now(&w.broken), repair: now(&w.repaired), restore: now(&w.restored)}
}

// runWorld runs the break of a world and returns its row and its firings.
func runWorld(t *testing.T, ctx context.Context, w *world) (found *row, others []*firing) {
	t.Helper()
	r := &runner{out: io.Discard, began: time.Now(), ask: func(context.Context) ([]activeAlert, error) {
		return w.active(time.Now()), nil
	}}
	r.run(ctx, phases{{{w.breakage()}}})
	if len(r.rows) != 1 {
		t.Fatalf("%d rows", len(r.rows))
	}
	return r.rows[0], unexpected(r.rows, r.fired)
}

func TestRunner(t *testing.T) {
	for _, tc := range []struct {
		name  string
		world *world
		want  string
	}{
		{"fires and resolves", &world{fireAfter: 30 * time.Second}, ""},
		{"never fires", &world{}, "A (j) has not fired within 8m0s; at the second attempt: A (j) has not fired"},
		{"does not resolve", &world{fireAfter: time.Second, stuck: true}, "has not resolved"},
		{"fires before the break", &world{before: true}, "was active before the break"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				row, others := runWorld(t, t.Context(), tc.world)
				if (row.err == nil) != (tc.want == "") || row.err != nil && !strings.Contains(row.err.Error(), tc.want) {
					t.Fatalf("error %v, want %q", row.err, tc.want)
				}
				if tc.world.repaired.Load() == 0 || tc.world.restored.Load() == 0 {
					t.Error("not repaired")
				}
				if tc.world.before && (tc.world.broken.Load() != 0 || len(others) != 1) {
					t.Errorf("broken although the alert was active, or %d other alerts", len(others))
				}
				if tc.want == "" && (row.fired < 30*time.Second || row.fired > 35*time.Second || row.resolved > 5*time.Second ||
					len(others) != 0) {
					t.Errorf("fired after %v, resolved after %v, %d other alerts", row.fired, row.resolved, len(others))
				}
			})
		})
	}
}

// After Ctrl-C the break is repaired, and no other one begins.
func TestRunnerRepairsAfterInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		w := &world{}
		time.AfterFunc(time.Minute, stop)
		row, _ := runWorld(t, ctx, w)
		if !errors.Is(row.err, context.Canceled) || w.repaired.Load() == 0 || w.restored.Load() == 0 {
			t.Errorf("error %v, repaired %d, restored %d", row.err, w.repaired.Load(), w.restored.Load())
		}
	})
}

func TestSample(t *testing.T) {
	var s sample
	if err := json.Unmarshal([]byte(`[1700000000.5, "1.25"]`), &s); err != nil || s.value != 1.25 ||
		s.at.UnixMilli() != 1700000000500 {
		t.Errorf("%v at %v, error %v", s.value, s.at, err)
	}
	if err := json.Unmarshal([]byte(`[1, "x"]`), &s); err == nil {
		t.Error("no error for a value that is not a number")
	}
}

func TestPage(t *testing.T) {
	b := &breakage{causes: one("A"), broken: "Something `that must stay` is broken.", repaired: "It is repaired."}
	failed := &breakage{causes: one("B"), broken: "x.", repaired: "y."}
	now := time.Unix(1_800_000_000, 0)
	r := &result{began: now, lasted: 20 * time.Minute, kubernetes: "v1", prometheus: "v3", rows: []*row{
		{breakage: b, cause: b.causes[0], fired: 31 * time.Second, resolved: 9 * time.Second},
		{breakage: failed, cause: failed.causes[0], err: errors.New("x")},
	}, others: []*firing{{name: "C", labels: map[string]string{"job": "bulkhead-node-authorizer"}, begin: now, end: now}}}
	page := r.record().page([]*breakage{b, failed})
	for _, want := range []string{"| A | 31 s | 9 s |", "| B | failed | failed |", "Something `that must stay` is",
		"2027-01-15", "Kubernetes v1", "**C** (node-authorizer)"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
	for line := range strings.Lines(page) {
		if len([]rune(line)) > widest+1 {
			t.Errorf("too long: %s", line)
		}
	}
	if err := r.failure(); err == nil || !strings.Contains(err.Error(), "B: x") {
		t.Errorf("error %v", err)
	}
}
