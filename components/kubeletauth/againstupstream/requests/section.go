// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package requests

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/sides"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/load"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
)

// bar is how much longer than through the bare proxy a request may take.
const bar = 1.15

const text = `"Ours" is kubelet-auth-proxy as its DaemonSet runs it, strict, with the audit log on; who asks and whether they may is held from the request before. "Bare" is
net/http/httputil.ReverseProxy with the same TLS, certificates and connections, and nothing else. "Direct" is the kubelet without a proxy. Each is a process of its
own, as is the kubelet, in whose place stands a program that answers with a body of that size; all share the cores, with the callers too. The callers keep
their connections. The token is one for the API server, as most scrapers have it, so that each request is also counted by the rule that audits that.

Each caller asks again when it is answered. The sides change places 24 times in each run; percentiles are of one run, what is shown is the median of the runs.
One at a time there are twice as many runs. A row of the table at the top is the worst of the three kinds of caller.`

// Section measures every body, by every kind of caller, alone and among others.
func Section(ctx context.Context, w *sides.World, plan sides.Plan) (section report.Section, err error) {
	section = report.Section{Title: "Requests", Text: text}
	all, stop, err := w.All(ctx)
	if err != nil {
		return section, err
	}
	defer stop()
	var measured []*found
	for _, body := range bodies {
		for _, callers := range []int{1, many} {
			for _, caller := range sides.Callers() {
				f := &found{body: body, caller: caller, callers: callers}
				plan.Say("requests: %s, %s, %s", body.name, f.when(), caller.Name)
				if err := f.measure(ctx, all, plan); err != nil {
					return section, err
				}
				measured = append(measured, f)
			}
		}
	}
	section.Rows, section.Tables = summaryOf(measured), []report.Table{tableOf(measured)}
	plan.Say("requests: allocations")
	if err := addAllocations(ctx, all, plan.Counted, &section); err != nil {
		return section, err
	}
	plan.Say("requests: callers, from 1 to 64")
	curves, err := growth(ctx, all, plan)
	if err != nil {
		return section, err
	}
	section.Curves = append(section.Curves, curves)
	if err := addLost(ctx, all[sides.Ours], &section); err != nil {
		return section, err
	}
	section.Profiles, err = profilesOf(ctx, w, plan, measured)
	return section, err
}

// profilesOf has one if a bar is missed: of the case in which ours does worst.
func profilesOf(ctx context.Context, w *sides.World, plan sides.Plan, measured []*found) ([]report.Profile, error) {
	worst := slices.MaxFunc(measured, func(a, b *found) int { return cmp.Compare(a.ratio(), b.ratio()) })
	if worst.ratio() <= bar {
		return nil, nil
	}
	plan.Say("requests: a bar is missed: profiling")
	side, err := w.StartProfiled(ctx, plan.Root)
	if err != nil {
		return nil, err
	}
	defer side.Stop()
	get, err := side.Get(worst.caller, worst.body.path, worst.body.size)
	if err != nil {
		return nil, err
	}
	title := fmt.Sprintf("%s, %s, %s, the process of ours", worst.body.name, worst.when(), worst.caller.Name)
	profile, err := side.CPUProfile(ctx, title, func(ctx context.Context) error {
		_, _, err := load.ClosedLoop(ctx, worst.callers, plan.Turn, get)
		return err
	})
	return []report.Profile{profile}, err
}

// ratio is the worse of those that have a bar.
func (f *found) ratio() float64 {
	p50 := report.Comparison{Ours: f.p50[sides.Ours], Theirs: f.p50[sides.Bare]}
	p99 := report.Comparison{Ours: f.p99[sides.Ours], Theirs: f.p99[sides.Bare]}
	return max(p50.Ratio(), p99.Ratio())
}

func (f *found) when() string {
	if f.callers == 1 {
		return "one at a time"
	}
	return fmt.Sprintf("%d at a time", f.callers)
}

// summaryOf has the worst kind of caller for each percentile of each body.
func summaryOf(measured []*found) []report.Row {
	var rows []report.Row
	at := map[string]int{}
	for _, f := range measured {
		for _, one := range []struct {
			name string
			took [sides.Number]report.Sample
		}{{"p50", f.p50}, {"p99", f.p99}} {
			what := fmt.Sprintf("%s, ours ÷ bare, %s, %s", f.body.name, one.name, f.when())
			row := report.FromComparison(what, bar, report.Comparison{Ours: one.took[sides.Ours], Theirs: one.took[sides.Bare]})
			row.Note = fmt.Sprintf("%s: %.0f µs, bare %.0f µs, direct %.0f µs", f.caller.Name,
				one.took[sides.Ours].Median(), one.took[sides.Bare].Median(), one.took[sides.Direct].Median())
			if i, known := at[what]; !known {
				at[what] = len(rows)
				rows = append(rows, row)
			} else if rows[i].Value < row.Value {
				rows[i] = row
			}
		}
	}
	return rows
}

func tableOf(measured []*found) report.Table {
	table := report.Table{
		Title:  "Requests, in microseconds: ours, bare, direct",
		Header: []string{"body", "callers", "caller", "p50", "p99", "ours ÷ bare, p50", "p99", "a second", "on the cores of the proxy: ours, bare"},
	}
	for _, f := range measured {
		table.Rows = append(table.Rows, []string{
			f.body.name, f.when(), f.caller.Name, three(f.p50), three(f.p99), times(f.p50), times(f.p99), three(f.perSecond),
			fmt.Sprintf("%.0f, %.0f", f.onCores[sides.Ours].Median(), f.onCores[sides.Bare].Median()),
		})
	}
	return table
}

func three(of [sides.Number]report.Sample) string {
	return fmt.Sprintf("%.0f, %.0f, %.0f", of[sides.Ours].Median(), of[sides.Bare].Median(), of[sides.Direct].Median())
}

func times(of [sides.Number]report.Sample) string {
	return fmt.Sprintf("%.3f ×", report.Comparison{Ours: of[sides.Ours], Theirs: of[sides.Bare]}.Ratio())
}
