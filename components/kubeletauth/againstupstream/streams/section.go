// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package streams

import (
	"context"
	"fmt"
	"slices"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/sides"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
)

const text = `A stream is an upgraded connection, as for exec; a log is the body of an answer that goes on. One at a time, in pieces of 32 KiB. A
bar of throughput is the other way round, as a bar is the most that passes: the bare proxy's divided by ours. As fast as it goes there are three times as many runs.

Streams that carry nothing: a proxy is started anew, the streams are opened, and what the process has more than before is divided by their number. Only the proxy's
process counts, with both of its connections. "Heap and stacks" is what is alive after a collection, which the bar is about; "resident" is what the kernel says, with
the garbage of opening them that is not collected yet, and with what the Go runtime keeps for later.`

// Section measures throughput, and streams that carry nothing.
func Section(ctx context.Context, w *sides.World, plan sides.Plan) (section report.Section, err error) {
	section = report.Section{Title: "Streams", Text: text}
	if err := busy(ctx, w, plan, &section); err != nil {
		return section, err
	}
	rows, curves, err := idle(ctx, w, plan)
	section.Rows, section.Curves = append(section.Rows, rows...), append(section.Curves, curves)
	if err != nil || !slices.ContainsFunc(rows, report.Row.Missed) {
		return section, err
	}
	profile, err := profileIdle(ctx, w, plan)
	section.Profiles = append(section.Profiles, profile)
	return section, err
}

func busy(ctx context.Context, w *sides.World, plan sides.Plan, section *report.Section) error {
	all, stop, err := w.All(ctx)
	if err != nil {
		return err
	}
	defer stop()
	measured, err := throughput(ctx, all, plan)
	if err != nil {
		return err
	}
	section.Tables = []report.Table{tableOf(measured)}
	for _, c := range measured {
		row := c.row()
		section.Rows = append(section.Rows, row)
		if !row.Missed() {
			continue
		}
		profile, err := c.profile(ctx, w, plan)
		if err != nil {
			return err
		}
		section.Profiles = append(section.Profiles, profile)
	}
	return nil
}

func (c *carried) profile(ctx context.Context, w *sides.World, plan sides.Plan) (report.Profile, error) {
	plan.Say("streams: a bar is missed: profiling")
	side, err := w.StartProfiled(ctx, plan.Root)
	if err != nil {
		return report.Profile{}, err
	}
	defer side.Stop()
	return side.CPUProfile(ctx, c.kind.name+", "+c.pace()+", the process of ours", func(ctx context.Context) error {
		_, err := c.kind.carry(ctx, side, c.flow)
		return err
	})
}

// profileIdle says what streams that carry nothing take their memory for.
func profileIdle(ctx context.Context, w *sides.World, plan sides.Plan) (profile report.Profile, err error) {
	plan.Say("streams: a bar is missed: profiling")
	side, err := w.StartProfiled(ctx, plan.Root)
	if err != nil {
		return profile, err
	}
	defer side.Stop()
	all, err := openAll(ctx, side, plan.Streams)
	defer closeAll(all)
	if err != nil {
		return profile, err
	}
	return side.HeapProfile(ctx, fmt.Sprintf("the heap of ours with %d idle streams", plan.Streams))
}
