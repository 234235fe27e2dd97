// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package loadtest times calls, one after the other or from several callers at once, and reports
// the 50th and the 99th percentile.
package loadtest

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// Latencies contains the latencies of calls. It is safe for concurrent use.
type Latencies struct {
	mu  sync.Mutex
	all []time.Duration
}

// Time times one call. It records the latency if the call returns no error.
func (l *Latencies) Time(call func() error) error {
	start := time.Now()
	if err := call(); err != nil {
		return err
	}
	took := time.Since(start)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, took)
	return nil
}

// Len returns the number of calls.
func (l *Latencies) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}

// Percentile returns the latency that p percent of the calls do not exceed, or 0 if there are no
// calls.
func (l *Latencies) Percentile(p int) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) == 0 {
		return 0
	}
	slices.Sort(l.all)
	return l.all[(len(l.all)-1)*p/100]
}

// Report reports the two percentiles as metrics of a benchmark.
func (l *Latencies) Report(b *testing.B) {
	b.ReportMetric(float64(l.Percentile(50).Microseconds()), "p50-µs")
	b.ReportMetric(float64(l.Percentile(99).Microseconds()), "p99-µs")
}

// OneCaller benchmarks a call that is repeated as soon as it returns.
func OneCaller(b *testing.B, call func(context.Context) error) {
	var latencies Latencies
	for b.Loop() {
		if err := latencies.Time(func() error { return call(b.Context()) }); err != nil {
			b.Fatal(err)
		}
	}
	latencies.Report(b)
}

// ManyCallers benchmarks a call that n callers make concurrently. n is a multiple of the number of
// cores.
func ManyCallers(b *testing.B, n int, call func(context.Context) error) {
	var latencies Latencies
	b.SetParallelism(max(1, n/runtime.GOMAXPROCS(0)))
	b.ResetTimer()
	b.RunParallel(func(more *testing.PB) {
		for more.Next() {
			if err := latencies.Time(func() error { return call(b.Context()) }); err != nil {
				b.Error(err)
				return
			}
		}
	})
	latencies.Report(b)
}
