// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Plan says how long to measure.
type Plan struct {
	// Runs is how often each side has its turn.
	Runs int
	// Turn is how long one turn of one case takes.
	Turn time.Duration
	// Large is the world of most measurements, Largest how far worlds grow.
	Large   Shape
	Largest int
	// Spread divides the parallelism of upstream's benchmarks. To start ten thousand
	// goroutines takes longer than a short turn.
	Spread int
	// CPUTime counts the time on all cores instead of the time that goes by. It is for
	// a look on a machine that has other things to do.
	CPUTime bool
	// Say tells whoever waits what is being measured.
	Say func(format string, args ...any)
}

// Full is for results that are published.
func Full(say func(string, ...any)) Plan {
	return Plan{Runs: 7, Turn: 100 * time.Millisecond, Large: Population, Largest: 100_000, Spread: 1, Say: say}
}

// Quick is for a look: fewer and shorter turns of fewer goroutines, in smaller
// worlds. Only the making of the graph, whose bar is about its size, is as large.
func Quick(say func(string, ...any)) Plan {
	fifth := Population
	fifth.Nodes /= 5
	return Plan{Runs: 5, Turn: 10 * time.Millisecond, Large: fifth, Largest: 10_000, Spread: 50, Say: say}
}

// workers is how many goroutines share the work if upstream's benchmark has the
// given parallelism.
func (p Plan) workers(parallelism int) int {
	return max(1, parallelism/max(1, p.Spread)) * runtime.GOMAXPROCS(0)
}

// timePerOperation does the work for about as long as a turn, spread over that
// many goroutines, and returns the nanoseconds from first to last, per operation.
func (p Plan) timePerOperation(goroutines int, work func()) float64 {
	n, took := 1, time.Duration(0)
	for {
		took = p.spread(n, goroutines, work)
		if took >= p.Turn/2 {
			break
		}
		// Grow by what is missing, but never so fast that one slow operation makes a
		// turn of minutes.
		n = min(n*20, int(float64(n)*1.1*float64(p.Turn)/float64(max(took, time.Microsecond)))+1)
	}
	return float64(took.Nanoseconds()) / float64(n)
}

// spread has the work done n times by no more than that many goroutines.
func (p Plan) spread(n, goroutines int, work func()) time.Duration {
	goroutines = min(n, goroutines)
	start := p.now()
	if goroutines == 1 {
		for range n {
			work()
		}
		return p.now() - start
	}
	var group sync.WaitGroup
	for worker := range goroutines {
		share := n / goroutines
		if worker < n%goroutines {
			share++
		}
		group.Go(func() {
			for range share {
				work()
			}
		})
	}
	group.Wait()
	return p.now() - start
}

// begun makes the time that goes by a duration.
var begun = time.Now()

func (p Plan) now() time.Duration {
	if !p.CPUTime {
		return time.Since(begun)
	}
	var usage syscall.Rusage
	// It fails for a bad address only.
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// allocations counts what one operation allocates, on average over many.
func allocations(work func()) float64 {
	const n = 1000
	work()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range n {
		work()
	}
	runtime.ReadMemStats(&after)
	// Other goroutines allocate now and then; testing.AllocsPerRun rounds them away
	// in the same way.
	return float64((after.Mallocs - before.Mallocs) / n)
}

// heap is what is in use once everything that can be freed is.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}
