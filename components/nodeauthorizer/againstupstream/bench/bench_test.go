// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
)

// brief is enough to see that everything can be measured. How fast it is depends
// on what else the machine does, so nothing here asks for that.
func brief(t *testing.T) Plan {
	return Plan{Runs: 1, Turn: 100 * time.Microsecond, Spread: 50, Say: t.Logf}
}

// small is a world with everything, of a few pods.
var small = Shape{Nodes: 5, PodsPerNode: 4, Namespaces: 2, AttachmentsPerNode: 2, Own: true, Everything: true}

// Every request of the benchmarks has the same answer on both sides (but for what
// only an optional rule refuses). To allow it, Bulkhead's node authorizer allocates the
// reason, a finding if a rule in audit mode has one, and nothing else.
func TestDecisionsAgreeAndHardlyAllocate(t *testing.T) {
	for _, part := range []struct {
		name  string
		shape Shape
		cases []Case
	}{
		{"upstream's ten requests", small, UpstreamCases()},
		{"upstream's unauthorized request", Shape{Nodes: 5, PodsPerNode: 1, Namespaces: 1, SharedConfigMap: true}, UnauthorizedCases()},
		{"every resource that the graph decides on", small, GraphCases()},
		{"all others", small, OtherCases()},
	} {
		t.Run(part.name, func(t *testing.T) {
			world := NewWorld(part.shape)
			world.addNodeX(part.shape)
			timed, err := newTrio(world).decisions(t.Context(), brief(t), part.cases, false)
			if err != nil {
				t.Fatal(err)
			}
			for _, result := range timed {
				checkTimed(t, result)
			}
		})
	}
}

func checkTimed(t *testing.T, result Timed) {
	t.Helper()
	for profile := range 2 {
		if ratio := result.compare(profile).Ratio(); !(ratio > 0) {
			t.Errorf("%s: the ratio of %s is %v", result.Name, sideNames[profile], ratio)
		}
		if !result.Allowed || result.Beyond && profile == 1 {
			continue
		}
		// The reason of an allowance names the rule; NA-SECRET-3 and NA-CM-3 are in audit mode.
		if n := testing.AllocsPerRun(100, result.again[profile]); n > 2 {
			t.Errorf("%s: %s allocates %v times to allow", result.Name, sideNames[profile], n)
		}
	}
}

func TestDecisionsUnderWrites(t *testing.T) {
	trio := newTrio(NewWorld(small))
	timed, err := trio.decisions(t.Context(), brief(t), GraphCases()[:4], true)
	if err != nil {
		t.Fatal(err)
	}
	var section report.Section
	if err := addDecisionRows(&section, "decisions", report.NoBar, timed); err != nil {
		t.Fatal(err)
	}
	if len(section.Rows) != 2 || !(section.Rows[0].Value > 0 && section.Rows[1].Value > 0) {
		t.Errorf("got %+v", section.Rows)
	}
	// The writer leaves the world as it was.
	if err := trio.check(GraphCases()); err != nil {
		t.Error(err)
	}
}

func TestWritesLeaveTheWorldAsItWas(t *testing.T) {
	world := NewWorld(Shape{Nodes: deletions, PodsPerNode: 1, Namespaces: 1, Own: true})
	trio := newTrio(world)
	for name, write := range map[string]func(Plan, Side, []*corev1.Pod) float64{"again": writeAgain, "changed": change, "deleted": remove} {
		for s, side := range trio.all() {
			if took := write(brief(t), side, world.Pods); !(took > 0) {
				t.Errorf("%s, %s took %v", name, sideNames[s], took)
			}
		}
		if err := trio.check(UpstreamCases()[:8]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestGrowth(t *testing.T) {
	var steps []*step
	for _, size := range []int{1, 300} {
		s, err := newStep(size, consumers(size))
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, s)
	}
	if _, err := newStep(100, podsInAll(100)); err != nil {
		t.Error(err)
	}
	if err := grow(t.Context(), brief(t), steps); err != nil {
		t.Fatal(err)
	}
	for _, line := range curvesOf("title", "axis", steps).Lines {
		if len(line.Y) != 2 || !(line.Y[0] > 0 && line.Y[1] > 0) {
			t.Errorf("%s: %v", line.Name, line.Y)
		}
	}
}

// The heap that a graph keeps is counted, and not what was needed to make it.
func TestHeap(t *testing.T) {
	before := heap()
	kept := make([]byte, 10<<20)
	if grown := heap() - before; grown < 9<<20 || grown > 12<<20 {
		t.Errorf("10 MB more count as %.0f", grown)
	}
	kept[0] = 1
}
