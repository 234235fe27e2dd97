// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package streams

import (
	"context"
	"fmt"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/sides"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/standin"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
)

const (
	// steady is the rate, in bytes a second, at which nothing should be felt.
	steady = 50_000_000
	// steadyBar is 98 % of the throughput without a proxy, the other way round.
	steadyBar = 1 / 0.98
)

// carried is what was measured of one kind, run by run: MB a second on each side, and
// milliseconds on the cores of a proxy for each MB.
type carried struct {
	kind            kind
	flow            standin.Flow
	rates, perMByte [sides.Number]report.Sample
}

// throughput measures each kind as fast as it goes, and what a kubelet sends at the
// steady rate too.
func throughput(ctx context.Context, all [sides.Number]*sides.Side, plan sides.Plan) ([]*carried, error) {
	fast, slow := standin.Flow{Bytes: plan.Bytes}, standin.Flow{Bytes: int64(steady * plan.Turn.Seconds()), PerSecond: steady}
	var measured []*carried
	for _, c := range []*carried{
		{kind: fromKubelet, flow: fast}, {kind: toKubelet, flow: fast}, {kind: logs, flow: fast},
		{kind: fromKubelet, flow: slow}, {kind: logs, flow: slow},
	} {
		plan.Say("streams: %s, %s", c.kind.name, c.pace())
		if err := c.measure(ctx, all, c.runs(plan.Runs)); err != nil {
			return nil, err
		}
		measured = append(measured, c)
	}
	return measured, nil
}

func (c *carried) pace() string {
	if c.flow.PerSecond == 0 {
		return "as fast as it goes"
	}
	return fmt.Sprintf("at %d MB a second", c.flow.PerSecond/1e6)
}

// runs are more where both ways are nearly as fast and single runs differ by a tenth: the
// median of few is off by more than what is asked.
func (c *carried) runs(of int) int {
	if c.flow.PerSecond == 0 {
		return 3 * of
	}
	return of
}

// parts are how many streams a run has of each side, one after the other. The sides change
// after each, so that what else the machine does is not one side's.
const parts = 32

func (c *carried) measure(ctx context.Context, all [sides.Number]*sides.Side, runs int) error {
	part := standin.Flow{Bytes: c.flow.Bytes / parts, PerSecond: c.flow.PerSecond}
	// The first turn of each is for the connections and the caches of the processor.
	for run := range runs + 1 {
		var took, used [sides.Number]time.Duration
		for i := range parts * sides.Number {
			// Who comes first changes too.
			side := (i + i/sides.Number) % sides.Number
			cost, err := all[side].OnCores(func() error {
				one, err := c.kind.carry(ctx, all[side], part)
				took[side] += one
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", c.kind.name, err)
			}
			used[side] += cost
		}
		if run == 0 {
			continue
		}
		megabytes := float64(parts*part.Bytes) / 1e6
		for side := range sides.Number {
			c.rates[side] = append(c.rates[side], megabytes/took[side].Seconds())
			c.perMByte[side] = append(c.perMByte[side], used[side].Seconds()*1e3/megabytes)
		}
	}
	return nil
}

// row holds ours against the bare proxy as fast as it goes, and against no proxy at the
// steady rate. A bar is the most that passes, so that the ratio is the other one by ours.
func (c *carried) row() report.Row {
	other, bar := sides.Bare, 1.0
	if c.flow.PerSecond > 0 {
		other, bar = sides.Direct, steadyBar
	}
	what := fmt.Sprintf("throughput of %s, %s ÷ ours, %s", c.kind.name, sides.Names[other], c.pace())
	row := report.FromComparison(what, bar, report.Comparison{Ours: c.rates[other], Theirs: c.rates[sides.Ours]})
	row.Note = fmt.Sprintf("ours %.1f MB/s, bare %.1f MB/s, direct %.1f MB/s",
		c.rates[sides.Ours].Median(), c.rates[sides.Bare].Median(), c.rates[sides.Direct].Median())
	return row
}

func tableOf(measured []*carried) report.Table {
	table := report.Table{
		Title:  "What is carried, MB a second, and on the cores of the proxy for each MB",
		Header: []string{"what", "pace", "ours", "bare", "direct", "ours ÷ direct", "on the cores, ours", "bare"},
	}
	for _, c := range measured {
		ratio := report.Comparison{Ours: c.rates[sides.Ours], Theirs: c.rates[sides.Direct]}
		table.Rows = append(table.Rows, []string{
			c.kind.name, c.pace(), fmt.Sprintf("%.1f", c.rates[sides.Ours].Median()), fmt.Sprintf("%.1f", c.rates[sides.Bare].Median()),
			fmt.Sprintf("%.1f", c.rates[sides.Direct].Median()), fmt.Sprintf("%.0f %%", 100*ratio.Ratio()),
			fmt.Sprintf("%.2f ms", c.perMByte[sides.Ours].Median()), fmt.Sprintf("%.2f ms", c.perMByte[sides.Bare].Median()),
		})
	}
	return table
}
