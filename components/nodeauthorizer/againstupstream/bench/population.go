// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"runtime"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
)

const populationText = `Upstream's BenchmarkPopulation: 500 nodes with 200 pods each, 100,000 volumes and 10,000 attachments, set one by one. Kept is the
heap that the graph alone holds after a garbage collection, while the objects, and so the names in them, are held elsewhere:
as they are by the informers of kube-apiserver. Our process keeps no objects; the last row has the names counted as well.`

// Making measures how long a side takes to take a world in, and what it keeps.
func Making(ctx context.Context, plan Plan) (report.Section, error) {
	section := report.Section{Title: "Making the graph", Text: populationText}
	plan.Say("making the graph of upstream's BenchmarkPopulation")
	world := NewWorld(Population)
	sides := [3]func() Side{NewParity, NewHardened, NewInTree}
	var seconds, kept [3]report.Sample
	// The world is as large in the quick form, for which three runs have to do.
	runs := plan.Runs
	if plan.Largest < len(world.Pods) {
		runs = 3
	}
	for run := range runs {
		for next := range sides {
			if ctx.Err() != nil {
				return section, ctx.Err()
			}
			s := (run + next) % 3
			before := heap()
			start := plan.now()
			side := sides[s]()
			Populate(side, world)
			seconds[s] = append(seconds[s], (plan.now() - start).Seconds())
			kept[s] = append(kept[s], (heap()-before)/1e6)
			runtime.KeepAlive(side)
			runtime.KeepAlive(world)
		}
		plan.Say("  run %d of %d", run+1, runs)
	}
	for s := range 2 {
		time := report.FromComparison(fmt.Sprintf("making the graph of %d pods, %s", len(world.Pods), sideNames[s]), 1.0/20, report.Comparison{Ours: seconds[s], Theirs: seconds[2]})
		time.Note = fmt.Sprintf("%.3f s, in-tree %.3f s", seconds[s].Median(), seconds[2].Median())
		room := report.FromComparison("heap that it keeps, "+sideNames[s], 1.0/3, report.Comparison{Ours: kept[s], Theirs: kept[2]})
		room.Note = fmt.Sprintf("%.1f MB, in-tree %.1f MB", kept[s].Median(), kept[2].Median())
		section.Rows = append(section.Rows, time, room)
		if time.Missed() {
			profile, err := report.CPUProfile("making the graph, "+sideNames[s], func() { Populate(sides[s](), world) })
			if err != nil {
				return section, err
			}
			section.Profiles = append(section.Profiles, profile)
		}
	}
	// Nothing but the graphs may hold the names from here on.
	world = nil
	alone := report.FromSample("heap that it keeps with the names, ours in hardened", report.NoBar, "%.1f MB", withNames(plan))
	section.Rows = append(section.Rows, alone)
	return section, nil
}

// withNames is what the hardened graph keeps when nobody else holds the names.
func withNames(plan Plan) report.Sample {
	var kept report.Sample
	for range min(plan.Runs, 3) {
		before := heap()
		side := NewHardened()
		Populate(side, NewWorld(Population))
		kept = append(kept, (heap()-before)/1e6)
		runtime.KeepAlive(side)
	}
	return kept
}
