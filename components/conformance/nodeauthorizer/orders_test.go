// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
	"github.com/bulkhead-k8s/bulkhead/components/conformance/nodeauthorizer/generator"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

const orderedClusters = 60

// TestOrderOfSourcesDoesNotMatter separates the events in a random cluster by kind. Watches keep
// the order within a kind, but there is no order between kinds. So the test applies four kinds one
// after the other, in all 24 orders, and mixes in the fifth at random. The final graph must always
// be the same.
func TestOrderOfSourcesDoesNotMatter(t *testing.T) {
	orders := 0
	for seed := range orderedClusters {
		d := harness.Seeded(uint64(seed))
		m := generator.New(d)
		m.Unlawful = true
		steps := make([]generator.Step, 0, stepsPerCluster)
		for range stepsPerCluster {
			steps = append(steps, m.Step())
		}
		want := photograph(steps)
		kinds := generator.Kinds()
		fifth := d.IntN(len(kinds))
		four := slices.Delete(slices.Clone(kinds), fifth, fifth+1)
		for _, order := range permutations(four) {
			orders++
			mixed := interleave(d, inOrder(steps, order), inOrder(steps, kinds[fifth:fifth+1]))
			if diff := want.differsFrom(photograph(mixed)); diff != "" {
				t.Fatalf("seed %d, order %v with %v in between: %s", seed, order, kinds[fifth], diff)
			}
		}
	}
	if orders != orderedClusters*24 {
		t.Errorf("%d orders were tried", orders)
	}
}

// photo contains all answers of a graph.
type photo struct {
	stats     graph.Stats
	relations map[string]graph.Relation
}

func photograph(steps []generator.Step) photo {
	g, state := graph.New(graph.Options{}), generator.NewState()
	for _, step := range steps {
		events, relisted := state.Apply(step)
		if relisted {
			replaceBulkhead(g, step.Kind(), state.Seen(step.Kind()))
			continue
		}
		for _, event := range events {
			if event.New == nil {
				deleteBulkhead(g, event.Key)
			} else {
				setBulkhead(g, event.New.API())
			}
		}
	}
	taken := photo{g.Stats(), map[string]graph.Relation{}}
	for _, key := range generator.Asked() {
		for _, node := range generator.Nodes() {
			relation := g.Relation(node, key.Kind, key.Namespace, key.Name)
			if relation.Related != g.Reaches(node, key.Kind, key.Namespace, key.Name) {
				panic("Relation and Reaches differ")
			}
			if relation != (graph.Relation{}) {
				taken.relations[fmt.Sprint(node, key)] = relation
			}
		}
	}
	return taken
}

func (p photo) differsFrom(other photo) string {
	if p.stats != other.stats {
		return fmt.Sprintf("sizes %+v and %+v", p.stats, other.stats)
	}
	for asked, relation := range p.relations {
		if other.relations[asked] != relation {
			return fmt.Sprintf("%s: %+v and %+v", asked, relation, other.relations[asked])
		}
	}
	if len(p.relations) != len(other.relations) {
		return fmt.Sprintf("%d and %d relations", len(p.relations), len(other.relations))
	}
	return ""
}

// inOrder returns the steps of these kinds, one kind after the other.
func inOrder(steps []generator.Step, kinds []graph.Kind) []generator.Step {
	var ordered []generator.Step
	for _, kind := range kinds {
		for _, step := range steps {
			if step.Kind() == kind {
				ordered = append(ordered, step)
			}
		}
	}
	return ordered
}

// interleave merges two sequences at random.
func interleave(d harness.RNG, a, b []generator.Step) []generator.Step {
	var merged []generator.Step
	for len(a) > 0 && len(b) > 0 {
		if d.IntN(len(a)+len(b)) < len(a) {
			merged, a = append(merged, a[0]), a[1:]
		} else {
			merged, b = append(merged, b[0]), b[1:]
		}
	}
	return append(append(merged, a...), b...)
}

func permutations(kinds []graph.Kind) [][]graph.Kind {
	if len(kinds) == 0 {
		return [][]graph.Kind{nil}
	}
	var all [][]graph.Kind
	for i, first := range kinds {
		rest := slices.Delete(slices.Clone(kinds), i, i+1)
		for _, order := range permutations(rest) {
			all = append(all, append([]graph.Kind{first}, order...))
		}
	}
	return all
}
