// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"context"
	"fmt"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/bench"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/load"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
)

// found is what was measured, run by run: of ours (0) and of the other (1).
type found struct {
	full, half [2]struct{ p50, p99 report.Sample }
	throughput [2]report.Sample
	rate       report.Sample
}

// measure gives each handler its turns, first at full load, then at half of what
// ours bore.
func (c *Contest) measure(ctx context.Context, plan bench.Plan, lasting time.Duration) (*found, error) {
	var f found
	// The connections, and the schedulers of both ends, warm up.
	for i := range c.calls {
		if _, _, err := load.ClosedLoop(ctx, callers, lasting/4, c.calls[i]); err != nil {
			return nil, err
		}
	}
	for run := range plan.Runs {
		plan.Say("%s over loopback, run %d of %d", c.What, run+1, plan.Runs)
		for next := range 2 {
			i := (run + next) % 2
			sample, perSecond, err := load.ClosedLoop(ctx, callers, lasting, c.calls[i])
			if err != nil {
				return nil, err
			}
			f.full[i].p50, f.full[i].p99 = append(f.full[i].p50, sample.Percentile(50)), append(f.full[i].p99, sample.Percentile(99))
			f.throughput[i] = append(f.throughput[i], perSecond)
		}
		rate := f.throughput[0].Median() / 2
		f.rate = append(f.rate, rate)
		for next := range 2 {
			i := (run + next) % 2
			sample, err := load.OpenLoop(ctx, rate, lasting, c.calls[i])
			if err != nil {
				return nil, err
			}
			f.half[i].p50, f.half[i].p99 = append(f.half[i].p50, sample.Percentile(50)), append(f.half[i].p99, sample.Percentile(99))
		}
	}
	return &f, nil
}

func (f *found) rows(what, other string) []report.Row {
	row := func(when string, ours, theirs report.Sample) report.Row {
		r := report.FromComparison(what+" ÷ "+other+", "+when, bar, report.Comparison{Ours: ours, Theirs: theirs})
		r.Note = fmt.Sprintf("%.0f µs, %s %.0f µs", ours.Median(), other, theirs.Median())
		return r
	}
	rows := []report.Row{
		row("p50 at half load", f.half[0].p50, f.half[1].p50),
		row("p99 at half load", f.half[0].p99, f.half[1].p99),
		row("p50 at full load", f.full[0].p50, f.full[1].p50),
		row("p99 at full load", f.full[0].p99, f.full[1].p99),
	}
	throughput := report.FromSample(what+"s answered at full load", report.NoBar, "%.0f per second", f.throughput[0])
	throughput.Note = fmt.Sprintf("%s %.0f per second; half load was %.0f per second", other, f.throughput[1].Median(), f.rate.Median())
	return append(rows, throughput)
}
