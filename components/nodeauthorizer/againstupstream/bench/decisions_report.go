// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
)

const (
	// graphBar is the part of the in-tree authorizer's time that a decision which asks
	// the graph may take, otherBar that of any other.
	graphBar = 1.0 / 3
	otherBar = 1.0
)

// Decisions measures all decisions: those that ask the graph, idle and while it is
// written, and all others.
func Decisions(ctx context.Context, plan Plan) (report.Section, error) {
	section := report.Section{Title: "Decisions", Text: decisionsText}
	asking, err := graphDecisions(ctx, plan)
	if err != nil {
		return section, err
	}
	plan.Say("decisions that do not ask the graph")
	everything := Shape{Nodes: 20, PodsPerNode: 10, Namespaces: 10, AttachmentsPerNode: 2, Own: true, Everything: true}
	others, err := newTrio(NewWorld(everything)).decisions(ctx, plan, OtherCases(), false)
	if err != nil {
		return section, err
	}
	idle, writing := split(asking)
	for _, part := range []struct {
		what  string
		bar   float64
		timed []Timed
	}{
		{"a decision that asks the graph, idle", graphBar, idle},
		{"a decision that asks the graph, under 100 writes/s", graphBar, writing},
		{"any other decision", otherBar, others},
	} {
		if err := addDecisionRows(&section, part.what, part.bar, part.timed); err != nil {
			return section, err
		}
	}
	section.Rows = append(section.Rows, allocationRow("allocations of an allowed decision that asks the graph", asking),
		allocationRow("allocations of any other allowed decision", others))
	section.Tables = []report.Table{
		decisionTable("Decisions that ask the graph, idle", idle), decisionTable("The same under 100 writes/s", writing),
		decisionTable("All other decisions", others),
	}
	return section, nil
}

const decisionsText = `The requests are the ten of upstream's BenchmarkAuthorization (500 nodes with 200 pods each, 5,000 goroutines for each core),
that of BenchmarkUnauthorizedRequests (5,000 nodes, 500 goroutines for each core), one for each resource of our table, and all others
that a node may make (one goroutine for each core). "Ours" is measured twice: as the parity profile decides, and as the hardened one does,
with every optional rule enforced. A row of the table at the top is the slowest of its requests, in either profile. Times are from first to last,
divided by the number of decisions. Live reads are off: what a refusal costs with them is below, with the whole process.`

// graphDecisions are in three worlds, one after the other: each takes room.
func graphDecisions(ctx context.Context, plan Plan) ([]Timed, error) {
	everything := plan.Large
	everything.Everything = true
	var all []Timed
	for _, part := range []struct {
		name  string
		shape Shape
		cases []Case
	}{
		{"upstream's ten requests", plan.Large, UpstreamCases()},
		{"upstream's unauthorized request", Unauthorized, UnauthorizedCases()},
		{"every resource of the table", everything, GraphCases()},
	} {
		plan.Say("%s: making the world", part.name)
		world := NewWorld(part.shape)
		world.addNodeX(part.shape)
		t := newTrio(world)
		for _, writing := range []bool{false, true} {
			plan.Say("%s, under writes: %v", part.name, writing)
			timed, err := t.decisions(ctx, plan, part.cases, writing)
			if err != nil {
				return nil, err
			}
			all = append(all, timed...)
		}
	}
	return all, nil
}

// addNodeX adds a node with a pod that names nothing that others name.
func (w *World) addNodeX(shape Shape) {
	lonely := NewWorld(Shape{Nodes: 1, Namespaces: 1})
	lonely.Nodes[0].Name = "nodeX"
	w.Nodes = append(w.Nodes, lonely.Nodes...)
	w.addPod(Shape{Namespaces: shape.Namespaces}, "pod-X", "ns0", "nodeX")
}

func split(timed []Timed) (idle, writing []Timed) {
	for _, t := range timed {
		if t.Writing {
			writing = append(writing, t)
		} else {
			idle = append(idle, t)
		}
	}
	return idle, writing
}

// compare is ours in one profile against in-tree.
func (t Timed) compare(profile int) report.Comparison {
	return report.Comparison{Ours: t.Nanoseconds[profile], Theirs: t.Nanoseconds[2]}
}

// candidate is a case in one of our profiles.
type candidate struct {
	Timed
	profile int
	ratio   float64
}

// bySlowness lists all cases that are allowed, or all that are not, in both of our
// profiles, the slowest first.
func bySlowness(timed []Timed, allowed bool) []candidate {
	var all []candidate
	for _, t := range timed {
		for profile := range 2 {
			// A case that the profiles answer differently is no comparison.
			if t.Allowed == allowed && (profile == 0 || !t.Beyond) {
				all = append(all, candidate{t, profile, t.compare(profile).Ratio()})
			}
		}
	}
	slices.SortFunc(all, func(a, b candidate) int { return -cmp.Compare(a.ratio, b.ratio) })
	return all
}

// addDecisionRows adds the slowest allowed and the slowest refused case, with how
// many are beyond the bar, and a profile of one that is.
func addDecisionRows(section *report.Section, what string, bar float64, timed []Timed) error {
	for _, answer := range []struct {
		name    string
		allowed bool
	}{{"allowed", true}, {"refused", false}} {
		all := bySlowness(timed, answer.allowed)
		if len(all) == 0 {
			continue
		}
		worst := all[0]
		row := report.FromComparison(what+", "+answer.name, bar, worst.compare(worst.profile))
		beyondBar := 0
		for _, c := range all {
			if c.ratio > bar {
				beyondBar++
			}
		}
		row.Note = fmt.Sprintf("slowest of %d: `%s`, %s; half are below %.3f ×; %d beyond the bar",
			len(all), worst.Name, sideNames[worst.profile], all[len(all)/2].ratio, beyondBar)
		section.Rows = append(section.Rows, row)
		if !row.Missed() {
			continue
		}
		profile, err := report.CPUProfile(worst.name()+", "+sideNames[worst.profile], worst.again[worst.profile])
		if err != nil {
			return err
		}
		section.Profiles = append(section.Profiles, profile)
	}
	return nil
}

func allocationRow(what string, timed []Timed) report.Row {
	row := report.Row{What: what, Bar: 0, Format: "%.0f"}
	n := 0
	for _, t := range timed {
		if !t.Allowed {
			continue
		}
		for profile := range 2 {
			if t.Beyond && profile == 1 {
				continue
			}
			n++
			if t.Allocations[profile] > row.Value {
				row.Value, row.Note = t.Allocations[profile], t.Name
			}
		}
	}
	row.High = row.Value
	row.Note = fmt.Sprintf("most of %d %s", n, row.Note)
	return row
}

func decisionTable(title string, timed []Timed) report.Table {
	table := report.Table{Title: title, Header: []string{
		"request", "answer", "parity", "hardened", "in-tree", "parity ÷ in-tree", "hardened ÷ in-tree", "allocations, ours", "in-tree",
	}}
	for _, t := range timed {
		answer := "refused"
		if t.Allowed {
			answer = "allowed"
		}
		hardened := fmt.Sprintf("%.3f", t.compare(1).Ratio())
		if t.Beyond {
			hardened = "refused there"
		}
		row := []string{"`" + t.Name + "`", answer}
		for s := range 3 {
			row = append(row, fmt.Sprintf("%.0f ns", report.Sample(t.Nanoseconds[s]).Median()))
		}
		table.Rows = append(table.Rows, append(row, fmt.Sprintf("%.3f", t.compare(0).Ratio()), hardened,
			fmt.Sprintf("%.0f / %.0f", t.Allocations[0], t.Allocations[1]), fmt.Sprintf("%.0f", t.Allocations[2])))
	}
	return table
}
