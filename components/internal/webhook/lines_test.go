// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	testclock "k8s.io/utils/clock/testing"
)

func testLines() (*Lines, *testclock.FakePassiveClock) {
	clock := testclock.NewFakePassiveClock(time.Unix(0, 0))
	m := newMetrics(Config{Registry: metrics.NewKubeRegistry()}, MetricNames{Prefix: "bulkhead_test"})
	return NewLines(clock, m.Unlogged, NewQueue()), clock
}

func TestManyLinesAreCountedInsteadOfLogged(t *testing.T) {
	for _, tt := range []struct {
		name string
		// user returns the user name of request i.
		user func(l *Lines, i int) string
		want int
	}{
		{"of one user", func(*Lines, int) string { return "y" }, UserLineBurst},
		{"of one user, and another user", func(l *Lines, i int) string {
			if i < 999 {
				return "y"
			}
			return userOfAnotherBucket(l, "y")
		}, UserLineBurst + 1},
		{"of made-up users", func(_ *Lines, i int) string { return fmt.Sprint(i) }, LineBurst},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, _ := testLines()
			lines := 0
			for i := range 1000 {
				if l.Admit(tt.user(l, i)) {
					l.Put(func() { lines++ })
				}
				l.queue.Drain()
			}
			if lines != tt.want {
				t.Errorf("%d lines, want %d", lines, tt.want)
			}
			unlogged, err := testutil.GetCounterMetricValue(l.unlogged)
			if err != nil || int(unlogged) != 1000-tt.want {
				t.Errorf("%v unlogged (%v), want %d", unlogged, err, 1000-tt.want)
			}
		})
	}
}

func userOfAnotherBucket(l *Lines, user string) string {
	another := user
	for l.bucket(another) == l.bucket(user) {
		another += "z"
	}
	return another
}

func TestRateOfLines(t *testing.T) {
	l, clock := testLines()
	for l.Admit("y") {
	}
	clock.SetTime(clock.Now().Add(time.Second))
	for i, want := range []bool{true, true, false} {
		if got := l.Admit("y"); got != want {
			t.Errorf("line %d after a second: %v, want %v", i, got, want)
		}
	}
}
