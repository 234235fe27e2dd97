// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"
)

// The markers of the part of docs/performance.md that this program writes.
const begin, end = "<!-- calls: written by `make bench-api` -->\n", "<!-- end of calls -->\n"

// sample is the result of one call in one turn.
type sample struct {
	call     string
	callers  int
	profile  string
	p50, p99 time.Duration
	// each is the time of the turn divided by the number of calls: the inverse of the throughput.
	each time.Duration
}

func (s sample) String() string {
	return fmt.Sprintf("%-24s %2d callers %-9s p50 %8s, p99 %8s, %6.0f calls a second\n", s.call, s.callers, s.profile,
		s.p50.Round(time.Microsecond), s.p99.Round(time.Microsecond), 1/s.each.Seconds())
}

// page returns a table with a row for each call and number of callers. A figure is the median of
// the turns, and a ratio that of two medians.
func page(all []sample, turns, calls int) string {
	var out strings.Builder
	fmt.Fprintf(&out, "Measured on %s, on %s/%s with %d cores, in %d turns of %d calls.\n\n",
		time.Now().UTC().Format(time.DateOnly), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), turns, calls)
	out.WriteString("| call | callers | in-tree p50 | hardened p50 | p50 ÷ | p99 ÷ | throughput ÷ |\n" +
		"|---|---|---|---|---|---|---|\n")
	type row struct {
		call    string
		callers int
	}
	var done []row
	for _, s := range all {
		r := row{s.call, s.callers}
		if slices.Contains(done, r) {
			continue
		}
		done = append(done, r)
		of := func(profile string, value func(sample) time.Duration) float64 {
			return median(all, func(o sample) bool {
				return o.call == s.call && o.callers == s.callers && o.profile == profile
			}, value)
		}
		ratio := func(value func(sample) time.Duration) float64 { return of("hardened", value) / of("in-tree", value) }
		p50 := func(s sample) time.Duration { return s.p50 }
		fmt.Fprintf(&out, "| %s | %d | %.0f µs | %.0f µs | %.2f | %.2f | %.2f |\n", s.call, s.callers,
			of("in-tree", p50)*1e6, of("hardened", p50)*1e6, ratio(p50),
			ratio(func(s sample) time.Duration { return s.p99 }), 1/ratio(func(s sample) time.Duration { return s.each }))
	}
	return out.String()
}

// median returns the median of a value of the samples that match, in seconds.
func median(all []sample, match func(sample) bool, value func(sample) time.Duration) float64 {
	var values []float64
	for _, s := range all {
		if match(s) {
			values = append(values, value(s).Seconds())
		}
	}
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[len(values)/2]
}
