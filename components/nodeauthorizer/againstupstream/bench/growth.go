// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
)

// flatBar is what counts as flat: the slowest size takes at most half as long
// again as the fastest, over a hundred thousand times the size.
const flatBar = 1.5

const growthText = `How long one decision takes as more pods use one secret (5,000 nodes at most; the node that is refused has a pod that does not use it), and as there
are more pods (20 on each node, each with a secret of its own). "Flat" means that the slowest size takes at most 1.5 × the time of the fastest.
Ours is in hardened. The same request is asked over and over, as in upstream's benchmarks.`

// step is one size, with what each curve found there.
type step struct {
	size  int
	again [4]func()
	took  [4]report.Sample
}

// curveNames are in the order of step.took.
var curveNames = [4]string{"ours, allowed", "ours, refused", "in-tree, allowed", "in-tree, refused"}

// grownCases ask for the secret that the world is about.
var grownCases = [2]Case{allowed("get secrets ns0/grown"), refused("get secrets ns0/grown").by(nodeX)}

// Growth measures decisions while the world grows, and draws the curves.
func Growth(ctx context.Context, plan Plan) (report.Section, error) {
	section := report.Section{Title: "Growth", Text: growthText}
	for _, kind := range []struct {
		format, axis string
		sizes        []int
		world        func(int) *World
	}{
		{"from 1 to %d consumers of one secret", "pods that use the secret", []int{1, 10, 100, 1000, 10_000, 100_000}, consumers},
		{"from 1000 to %d pods", "pods", []int{1000, 3000, 10_000, 30_000, 100_000}, podsInAll},
	} {
		what := fmt.Sprintf(kind.format, plan.Largest)
		plan.Say("growth %s: making the worlds", what)
		var steps []*step
		for _, size := range kind.sizes {
			if size > plan.Largest {
				break
			}
			s, err := newStep(size, kind.world(size))
			if err != nil {
				return section, err
			}
			steps = append(steps, s)
		}
		plan.Say("growth %s", what)
		if err := grow(ctx, plan, steps); err != nil {
			return section, err
		}
		if err := addGrowth(&section, what, steps); err != nil {
			return section, err
		}
		section.Curves = append(section.Curves, curvesOf("One decision "+what, kind.axis, steps))
		section.Tables = append(section.Tables, growthTable("One decision "+what, kind.axis, steps))
	}
	return section, nil
}

// consumers is a world in which that many pods use one secret.
func consumers(size int) *World {
	w := NewWorld(Shape{Nodes: min(size, 5000), Namespaces: 1})
	for p := range size {
		node := w.Nodes[p%len(w.Nodes)].Name
		pod := barePod(fmt.Sprintf("pod%d", p), "ns0", node)
		pod.Spec.Volumes = []corev1.Volume{secretVolume("grown"), secretVolume("secret-" + pod.Name)}
		w.Pods = append(w.Pods, pod)
	}
	return w
}

// podsInAll is a world of that many pods, one of which uses the secret.
func podsInAll(size int) *World {
	w := NewWorld(Shape{Nodes: size / 20, PodsPerNode: 20, Namespaces: 20, Own: true})
	w.Pods[0].Spec.Volumes = append(w.Pods[0].Spec.Volumes, secretVolume("grown"))
	return w
}

func newStep(size int, w *World) (*step, error) {
	w.addNodeX(Shape{Namespaces: 1})
	t := trio{parity: NewParity(), hardened: NewHardened(), inTree: NewInTree()}
	for _, side := range t.all() {
		Populate(side, w)
	}
	if err := t.check(grownCases[:]); err != nil {
		return nil, err
	}
	s := &step{size: size}
	for i, c := range grownCases {
		s.again[i], s.again[2+i] = decide(t.hardened, c.Attributes), decide(t.inTree, c.Attributes)
	}
	return s, nil
}

func grow(ctx context.Context, plan Plan, steps []*step) error {
	for run := range plan.Runs {
		for _, s := range steps {
			for next := range s.again {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				i := (run + next) % len(s.again)
				s.took[i] = append(s.took[i], plan.timePerOperation(1, s.again[i]))
			}
		}
	}
	return nil
}

// addGrowth holds the slowest size against the fastest.
func addGrowth(section *report.Section, what string, steps []*step) error {
	for i := range 2 {
		fastest, slowest := steps[0], steps[0]
		for _, s := range steps {
			if s.took[i].Median() < fastest.took[i].Median() {
				fastest = s
			}
			if s.took[i].Median() > slowest.took[i].Median() {
				slowest = s
			}
		}
		row := report.FromComparison("slowest ÷ fastest "+what+", "+curveNames[i], flatBar, report.Comparison{Ours: slowest.took[i], Theirs: fastest.took[i]})
		row.Note = fmt.Sprintf("%.0f ns at %d, %.0f ns at %d", slowest.took[i].Median(), slowest.size, fastest.took[i].Median(), fastest.size)
		section.Rows = append(section.Rows, row)
		if !row.Missed() {
			continue
		}
		profile, err := report.CPUProfile(fmt.Sprintf("%s at %d", row.What, slowest.size), slowest.again[i])
		if err != nil {
			return err
		}
		section.Profiles = append(section.Profiles, profile)
	}
	return nil
}

func curvesOf(title, axis string, steps []*step) report.Curves {
	curves := report.Curves{Title: title, X: axis, Y: "nanoseconds"}
	for i, name := range curveNames {
		line := report.Line{Name: name, Theirs: i >= 2}
		for _, s := range steps {
			line.X = append(line.X, float64(s.size))
			line.Y = append(line.Y, s.took[i].Median())
		}
		curves.Lines = append(curves.Lines, line)
	}
	return curves
}

func growthTable(title, axis string, steps []*step) report.Table {
	table := report.Table{Title: title, Header: append([]string{axis}, curveNames[:]...)}
	for _, s := range steps {
		row := []string{fmt.Sprint(s.size)}
		for i := range s.took {
			row = append(row, fmt.Sprintf("%.0f ns", s.took[i].Median()))
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}
