// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package loadtest

import (
	"errors"
	"testing"
	"time"
)

func TestPercentiles(t *testing.T) {
	var l Latencies
	for i := 100; i > 0; i-- {
		l.all = append(l.all, time.Duration(i))
	}
	if p50, p99 := l.Percentile(50), l.Percentile(99); p50 != 50 || p99 != 99 {
		t.Errorf("p50 %d, p99 %d, want 50 and 99", p50, p99)
	}
}

func TestFailedCallHasNoLatency(t *testing.T) {
	var l Latencies
	failed := errors.New("failed")
	if err := l.Time(func() error { return failed }); !errors.Is(err, failed) || len(l.all) != 0 {
		t.Errorf("error %v, %d latencies", err, len(l.all))
	}
}
