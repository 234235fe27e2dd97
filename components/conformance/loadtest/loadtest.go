// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
)

// latencies are of calls, in microseconds.
type latencies struct {
	mu     sync.Mutex
	sample report.Sample
	err    error
}

func (l *latencies) add(took time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil && l.err == nil {
		l.err = err
	}
	l.sample = append(l.sample, float64(took.Nanoseconds())/1e3)
}

// ClosedLoop has each of so many callers ask again as soon as it is answered: full
// load. It returns the latencies in microseconds, the calls per second, and the first
// error of a call.
func ClosedLoop(ctx context.Context, callers int, lasting time.Duration, call func(ctx context.Context, n int) error) (report.Sample, float64, error) {
	var all latencies
	var n atomic.Int64
	var group sync.WaitGroup
	start := time.Now()
	for range callers {
		group.Go(func() {
			for time.Since(start) < lasting && ctx.Err() == nil {
				begun := time.Now()
				err := call(ctx, int(n.Add(1)))
				all.add(time.Since(begun), err)
			}
		})
	}
	group.Wait()
	return all.sample, float64(len(all.sample)) / time.Since(start).Seconds(), all.err
}

// mostInFlight is what a kube-apiserver has in flight by default. With more than the
// connection has streams, each call would make a connection of its own.
const mostInFlight = 600

// OpenLoop has calls come at random moments, so many a second on average, whether
// or not those before are answered. A latency counts from the moment when the call
// should have begun, also where it had to wait for a place. The moments are the same
// in every run. It returns the latencies in microseconds and the first error of a call.
func OpenLoop(ctx context.Context, perSecond float64, lasting time.Duration, call func(ctx context.Context, n int) error) (report.Sample, error) {
	var all latencies
	var group sync.WaitGroup
	places := make(chan struct{}, mostInFlight)
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same moments in every run
	start := time.Now()
	for due, n := time.Duration(0), 0; due < lasting && ctx.Err() == nil; n++ {
		due += time.Duration(random.ExpFloat64() / perSecond * float64(time.Second))
		time.Sleep(time.Until(start.Add(due)))
		places <- struct{}{}
		group.Go(func() {
			err := call(ctx, n)
			all.add(time.Since(start.Add(due)), err)
			<-places
		})
	}
	group.Wait()
	return all.sample, all.err
}
