// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package loadtest times calls, in turn or from several callers at once, and says what half
// and what all but one in a hundred of them took.
package loadtest

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// Latencies are those of calls. It is safe for concurrent use.
type Latencies struct {
	mu  sync.Mutex
	all []time.Duration
}

// Time times one call, and keeps the latency if the call has no error.
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

// Percentile is the latency that p of 100 calls do not exceed; 0 without any call.
func (l *Latencies) Percentile(p int) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) == 0 {
		return 0
	}
	slices.Sort(l.all)
	return l.all[(len(l.all)-1)*p/100]
}

// Report gives a benchmark the two percentiles as metrics.
func (l *Latencies) Report(b *testing.B) {
	b.ReportMetric(float64(l.Percentile(50).Microseconds()), "p50-µs")
	b.ReportMetric(float64(l.Percentile(99).Microseconds()), "p99-µs")
}

// OneCaller benchmarks a call that is made again as soon as it returns.
func OneCaller(b *testing.B, call func(context.Context) error) {
	var latencies Latencies
	for b.Loop() {
		if err := latencies.Time(func() error { return call(b.Context()) }); err != nil {
			b.Fatal(err)
		}
	}
	latencies.Report(b)
}

// ManyCallers benchmarks a call that n callers make at the same time, a whole number for each
// core.
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
