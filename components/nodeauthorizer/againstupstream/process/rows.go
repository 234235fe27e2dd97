// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
)

const (
	memoryBar = 250 // MB
	readyBar  = 10  // s
)

const text = `The program as the hardened profile runs it, every optional rule enforced and live reads on, in front of a real kube-apiserver and a real
etcd on the same machine, whose cores all of them share. %s

"While listing" is the most that was resident from the start until %v after it was ready, "at rest" what is resident then; nobody told
the Go runtime to give anything back. Events are five for each pod: its status changes, it is deleted, one of its name begins on another node, and becomes running
in two steps. A refused review is answered after the relation has been read live from kube-apiserver, and no two ask the same.

node-restriction runs alone in front of the same kube-apiserver. It follows Nodes; of pods it keeps only which node those are bound to that it was asked
about last, at most 20 MB of which nothing is in these figures.`

func sectionOf(plan Plan, runs []run, written, size int64) report.Section {
	held := fmt.Sprintf("They hold %d pods on %d nodes and %d claims, volumes and attachments each: %d objects of %d bytes on average, %.0f MB in all.",
		plan.Size.Pods, plan.Size.Nodes, plan.Size.Pods/every, written, size/written, float64(size)/1e6)
	section := report.Section{Title: "The whole process", Text: fmt.Sprintf(text, held, plan.Rest)}
	of := func(value func(run) float64) (s report.Sample) {
		for _, r := range runs {
			s = append(s, value(r))
		}
		return s
	}
	row := func(what string, bar float64, format string, value func(run) float64) report.Row {
		r := report.FromSample(what, bar, format, of(value))
		section.Rows = append(section.Rows, r)
		return r
	}
	listing := row("resident memory while listing", memoryBar, "%.0f MB", func(r run) float64 { return r.peak })
	rest := row("resident memory at rest", memoryBar, "%.0f MB", func(r run) float64 { return r.rest })
	row("ready after its start", readyBar, "%.1f s", func(r run) float64 { return r.ready.Seconds() })
	row(fmt.Sprintf("cores in use at %d pod events per second", eventsPerSecond), report.NoBar, "%.2f", func(r run) float64 { return r.busy.cores })
	section.Rows[len(section.Rows)-1].Note = fmt.Sprintf("%.0f events per second came about; %.3f cores without events",
		of(func(r run) float64 { return r.busy.rate }).Median(), of(func(r run) float64 { return r.busy.idle }).Median())
	for _, percentile := range []float64{50, 99} {
		row(fmt.Sprintf("review refused after a live read, p%.0f", percentile), report.NoBar, "%.1f ms", func(r run) float64 { return r.answers.refused.Percentile(percentile) })
		section.Rows[len(section.Rows)-1].Note = fmt.Sprintf("allowed %.1f ms; one at a time",
			of(func(r run) float64 { return r.answers.allowed.Percentile(percentile) }).Median())
	}
	if listing.Missed() || rest.Missed() {
		section.Profiles = append(section.Profiles, report.Profile{
			Title: "what the Go runtime says of its memory at rest, in MB", Text: runs[len(runs)-1].memory,
		})
	}
	return section
}
