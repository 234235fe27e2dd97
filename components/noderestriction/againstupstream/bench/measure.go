// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Cost is what one answer takes.
type Cost struct {
	Nanoseconds, Allocations float64
}

// Row is what a case takes on all sides.
type Row struct {
	Case
	Ours, Hardened, Upstream Cost
	// Besides are the allocations of what both sides do alike: of the listers that ours
	// asks, and of decoding a request for a certificate.
	Besides float64
	// Ratios are ours to upstream's, turn by turn, as Hardening are those of ours with
	// the rules beyond upstream. Hardening is empty where these refuse what upstream
	// admits.
	Ratios, Hardening []float64
}

// most is how many allocations there may be where a write is admitted, besides those
// of what both sides do alike.
const most = 2

// Ratio is the median of those of the turns.
func (r Row) Ratio() float64 { return median(r.Ratios) }

// TooMany is true for a case that is admitted with more allocations than there may be.
func (r Row) TooMany() bool { return r.Admitted && r.Ours.Allocations-r.Besides > most }

// Missed is true for a case that is slower than upstream's, or that allocates too much.
func (r Row) Missed() bool { return r.Ratio() > 1 || r.TooMany() }

// Measure times all cases, turn by turn: one side, then the next; who begins changes
// with every turn.
func Measure(timed []Timed, turns int, turn time.Duration) []Row {
	rows := make([]Row, 0, len(timed))
	for _, t := range timed {
		sides := [3]func() bool{t.Ours, t.Hardened, t.Upstream}
		var took [3][]float64
		for i := range 3 * turns {
			side := (i + i/3) % 3
			took[side] = append(took[side], nanoseconds(turn, sides[side]))
		}
		row := Row{
			Case: t.Case, Ratios: ratios(took[0], took[2]), Besides: allocations(t.besides),
			Ours: Cost{median(took[0]), allocations(t.Ours)}, Hardened: Cost{median(took[1]), allocations(t.Hardened)},
			Upstream: Cost{median(took[2]), allocations(t.Upstream)},
		}
		if t.Hardened() == t.Admitted {
			row.Hardening = ratios(took[1], took[2])
		}
		rows = append(rows, row)
	}
	return rows
}

func ratios(ours, theirs []float64) []float64 {
	all := make([]float64, len(ours))
	for i := range all {
		all[i] = ours[i] / theirs[i]
	}
	return all
}

// allocations are those of one answer.
func allocations(answer func() bool) float64 {
	return testing.AllocsPerRun(200, func() { answer() })
}

// nanoseconds is the time on a core that one answer takes: other programs on the
// machine do not count.
func nanoseconds(turn time.Duration, answer func() bool) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for n := 16; ; n *= 2 {
		start := onCore()
		for range n {
			answer()
		}
		if took := onCore() - start; took >= turn {
			return float64(took.Nanoseconds()) / float64(n)
		}
	}
}

// onCore is how long this thread has run, to the nanosecond. What getrusage says is as old
// as the kernel's last tick: 4 ms, half of a turn.
func onCore() time.Duration {
	var ran unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ran); err != nil {
		panic(err) // there is no Linux without this clock
	}
	return time.Duration(ran.Nano())
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
