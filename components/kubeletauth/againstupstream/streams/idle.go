// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package streams

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/sides"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/standin"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/load"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
)

// memory is what a proxy has, in KiB.
type memory struct {
	// inUse are the heap that is alive and the stacks; resident is what the kernel says,
	// with what the collector has not given back.
	inUse, resident float64
}

// held is what one stream takes, run by run, in KiB.
type held struct{ inUse, resident report.Sample }

// add starts a proxy, has it hold so many streams that carry nothing, and ends it.
func (h *held) add(ctx context.Context, start func(context.Context, ...string) (*sides.Side, error), streams int) error {
	side, err := start(ctx)
	if err != nil {
		return err
	}
	defer side.Stop()
	before, err := settled(ctx, side)
	if err != nil {
		return err
	}
	all, err := openAll(ctx, side, streams)
	defer closeAll(all)
	if err != nil {
		return err
	}
	after, err := settled(ctx, side)
	if err != nil {
		return err
	}
	h.inUse = append(h.inUse, (after.inUse-before.inUse)/float64(streams))
	h.resident = append(h.resident, (after.resident-before.resident)/float64(streams))
	return nil
}

// openers open streams at the same time.
const openers = 16

// openAll returns those that are open also if one cannot be opened.
func openAll(ctx context.Context, side *sides.Side, n int) ([]*stream, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(openers)
	all := make([]*stream, n)
	for i := range n {
		group.Go(func() (err error) {
			all[i], err = open(ctx, side, "do="+standin.Nothing)
			return err
		})
	}
	err := group.Wait()
	open := all[:0]
	for _, s := range all {
		if s != nil {
			open = append(open, s)
		}
	}
	return open, err
}

func closeAll(all []*stream) {
	for _, s := range all {
		_ = s.Close()
	}
}

// collections is how many have to have passed: the second empties what the first only
// took out of pools.
const collections = 2

// settled has the proxy collect its garbage by giving it requests, and then reads what
// it has.
func settled(ctx context.Context, side *sides.Side) (m memory, err error) {
	get, err := side.Get(sides.Callers()[0], standin.Small, standin.SmallBytes)
	if err != nil {
		return m, err
	}
	const cycles = "go_gc_cycles_total_gc_cycles_total"
	values, err := side.Health.Metrics(ctx)
	if err != nil {
		return m, err
	}
	for done := values[cycles] + collections + 1; values[cycles] < done; {
		if _, _, err = load.ClosedLoop(ctx, 4, 200*time.Millisecond, get); err != nil {
			return m, err
		}
		if values, err = side.Health.Metrics(ctx); err != nil {
			return m, err
		}
	}
	resident, err := side.Process.Memory()
	m.inUse = (values["go_gc_heap_live_bytes"] + values["go_memory_classes_heap_stacks_bytes"]) / 1024
	m.resident = resident.Now * 1e6 / 1024
	return m, err
}

// least is drawn where less was found than the noise: the axis is logarithmic.
const least = 0.01

// idleBar is what a stream that carries nothing may take, in KiB.
const idleBar = 96

// idle measures streams that carry nothing, and fewer of them too.
func idle(ctx context.Context, w *sides.World, plan sides.Plan) (rows []report.Row, curves report.Curves, err error) {
	starts := [2]func(context.Context, ...string) (*sides.Side, error){
		w.StartOurs, func(ctx context.Context, _ ...string) (*sides.Side, error) { return w.StartBare(ctx) },
	}
	curves = report.Curves{Title: "What streams take that carry nothing", X: "streams", Y: "MiB, heap and stacks", Lines: []report.Line{
		{Name: sides.Names[sides.Ours]}, {Name: sides.Names[sides.Bare], Theirs: true},
	}}
	var whole [2]held
	for n := plan.Streams / 8; n <= plan.Streams; n *= 2 {
		plan.Say("streams: %d that carry nothing", n)
		var at [2]held
		for range plan.Runs {
			for side, start := range starts {
				if err := at[side].add(ctx, start, n); err != nil {
					return nil, curves, err
				}
			}
		}
		for side := range starts {
			curves.Lines[side].X = append(curves.Lines[side].X, float64(n))
			curves.Lines[side].Y = append(curves.Lines[side].Y, max(at[side].inUse.Median()*float64(n)/1024, least))
		}
		whole = at
	}
	inUse := report.FromSample(fmt.Sprintf("each of %d idle streams, heap and stacks", plan.Streams), idleBar, "%.1f KiB", whole[sides.Ours].inUse)
	inUse.Note = fmt.Sprintf("bare %.1f KiB", whole[sides.Bare].inUse.Median())
	resident := report.FromSample(fmt.Sprintf("each of %d idle streams, resident", plan.Streams), report.NoBar, "%.1f KiB", whole[sides.Ours].resident)
	resident.Note = fmt.Sprintf("bare %.1f KiB", whole[sides.Bare].resident.Median())
	return []report.Row{inUse, resident}, curves, nil
}
