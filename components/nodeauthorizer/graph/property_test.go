// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// TestAnswersDependOnlyOnExistingObjects sends random sequences of events to one graph for every
// combination of modes. The answers must equal those of a path search in the world. They must also
// equal those of a new graph that receives only the final world. The size of the graph must be the
// size of the world.
//
// A failure prints its seed. GRAPH_SEED=<seed> runs that sequence first.
func TestAnswersDependOnlyOnExistingObjects(t *testing.T) {
	first := uint64(time.Now().UnixNano())
	if given := os.Getenv("GRAPH_SEED"); given != "" {
		var err error
		if first, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	for seed := first; seed < first+60; seed++ {
		if !runSequence(t, seed) {
			t.Fatalf("the sequence of seed %d fails", seed)
		}
	}
}

// everyMode returns an empty graph for every combination of modes.
func everyMode(providers bool) told {
	graphs := told{}
	modes := []rules.Mode{rules.Off, rules.Audit, rules.Enforce}
	for _, ended := range modes {
		for _, unusable := range modes {
			for _, unowned := range modes {
				options := Options{ended, unusable, unowned, providers}
				graphs[options] = New(options)
			}
		}
	}
	return graphs
}

func runSequence(t *testing.T, seed uint64) bool {
	d := dice{rand.New(rand.NewPCG(seed, 0))}
	w, graphs := newWorld(), everyMode(d.oneIn(4))
	for step := range 200 {
		w.step(d, graphs)
		// The iteration order of a map is random, so each step checks other combinations.
		looks := 0
		for options, g := range graphs {
			if step%8 != 0 || looks == 2 {
				break
			}
			looks++
			if !agrees(t, w, options, g) {
				return false
			}
		}
	}
	if !auditForetellsEnforce(t, graphs) {
		return false
	}
	for options, g := range graphs {
		if !agrees(t, w, options, g) || !agreesWithNew(t, w, options, g) || !isEmptyAgain(t, w, g, d) {
			return false
		}
	}
	return !t.Failed()
}

// agreesWithNew compares the graph with a new graph that receives only the final world.
func agreesWithNew(t *testing.T, w *world, options Options, g *Graph) bool {
	fresh := New(options)
	w.fill(fresh)
	w.tellEnded(fresh)
	if diff := gocmp.Diff(fresh.Stats(), g.Stats()); diff != "" {
		t.Errorf("%+v: Stats (-of a new graph +of the graph):\n%s", options, diff)
		return false
	}
	return agrees(t, w, options, fresh)
}

// isEmptyAgain deletes everything, by events or by lists, and checks that no data is left.
func isEmptyAgain(t *testing.T, w *world, g *Graph, d dice) bool {
	if d.oneIn(2) {
		newWorld().fill(g)
	} else {
		w.deleteEach(g)
	}
	if diff := gocmp.Diff(Stats{}, g.Stats()); diff != "" {
		t.Errorf("Stats after everything is gone (-want +got):\n%s", diff)
		return false
	}
	if left := g.state.leftovers(); left != "" {
		t.Errorf("after everything is gone: %s", left)
		return false
	}
	return true
}

// leftovers describes data that a graph without objects should not have.
func (s *state) leftovers() string {
	for i := range s.objects.index.shards {
		if shard := s.objects.index.shards[i]; shard.slots != nil || shard.live != 0 {
			return fmt.Sprintf("shard %d has %d slots, %d live", i, len(shard.slots), shard.live)
		}
	}
	for i := range s.objects.end {
		if left := s.objects.at(i); left.refcount != 0 || left.name != "" || left.detail != 0 || left.nodes.n != 0 ||
			left.nodes.many != nil {
			return fmt.Sprintf("object %d is %+v", i, left)
		}
	}
	switch {
	case s.objects.len() != 0:
		return fmt.Sprintf("%d objects", s.objects.len())
	case s.objects.present != [storedKinds]uint32{} || s.objects.tally != [storedKinds][flagSets]int{}:
		return fmt.Sprintf("objects are counted: %v", s.objects.present)
	case s.pods.len() != 0:
		return fmt.Sprintf("%d pods", s.pods.len())
	case s.volumes.len() != 0:
		return fmt.Sprintf("%d volumes", s.volumes.len())
	case s.owners.len() != 0:
		return fmt.Sprintf("%d owners of claims", s.owners.len())
	case len(s.nodes.numbers) != 0 || s.registered != 0:
		return fmt.Sprintf("nodes %v, %d registered", s.nodes.numbers, s.registered)
	case len(s.objects.namespaces.numbers) != 0:
		return fmt.Sprintf("namespaces %v", s.objects.namespaces.numbers)
	}
	return ""
}
