// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// The names are more than there are shards, so that lists get long and empty again.
func TestRegistryIsASet(t *testing.T) {
	d := rand.New(rand.NewPCG(1, 1))
	r := registry{seed: maphash.MakeSeed()}
	in := map[string]bool{}
	const names = 8 * registryShards
	for step := range 20 * names {
		name := fmt.Sprint("node-", d.IntN(names))
		growing := step/(4*names)%2 == 0
		switch {
		case growing && !in[name]:
			r.add(name)
			in[name] = true
		case !growing && in[name]:
			r.remove(name)
			delete(in, name)
		}
		if r.has(name) != in[name] {
			t.Fatalf("step %d: has(%q) = %v", step, name, !in[name])
		}
	}
	for i := range names {
		if name := fmt.Sprint("node-", i); r.has(name) != in[name] {
			t.Errorf("has(%q) = %v", name, !in[name])
		}
	}
}

// What a reader holds of a list stays as it is while writers go on.
func TestRegistryReplacesLists(t *testing.T) {
	r := registry{seed: maphash.MakeSeed()}
	r.add("a")
	hash := maphash.String(r.seed, "a")
	before := r.list(hash)
	r.remove("a")
	if len(before) != 1 || before[0].name != "a" {
		t.Errorf("a list was changed: %v", before)
	}
	if r.has("a") {
		t.Error("the node is still in")
	}
}

// Readers take no lock. Whatever others come and go around it in the same list, a
// node that stays registered is, and one that never was is not; and both ways to ask
// agree for as long as nobody writes that node.
func TestRegisteredIsSteadyWhileOthersChange(t *testing.T) {
	const steady = 2 * registryShards
	g := New(Options{})
	var stay []*corev1.Node
	for i := range steady {
		stay = append(stay, nodeNamed(fmt.Sprint("steady-", i)))
	}
	g.ReplaceNodes(stay)

	var writers, readers sync.WaitGroup
	stop := make(chan struct{})
	for writer := range 2 {
		writers.Go(func() { churnNodes(g, writer, stay) })
	}
	for range 2 {
		readers.Go(func() { watchNodes(t, g, steady, stop) })
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	g.ReplaceNodes(nil)
	for i := range steady {
		if g.Registered(fmt.Sprint("steady-", i)) {
			t.Fatalf("node %d is still registered", i)
		}
	}
}

func churnNodes(g *Graph, writer int, stay []*corev1.Node) {
	for i := range 2000 {
		name := fmt.Sprintf("comes-and-goes-%d-%d", writer, i%700)
		g.SetNode(nodeNamed(name))
		if i%3 > 0 {
			g.DeleteNode(name)
		}
		if i%500 == 0 {
			g.ReplaceNodes(stay)
		}
	}
}

func watchNodes(t *testing.T, g *Graph, steady int, stop <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		known, unknown := fmt.Sprint("steady-", i%steady), fmt.Sprint("never-", i%steady)
		if !g.Registered(known) || !g.Relation(known, Secret, "ns", "s").Registered {
			t.Error("a node was not registered for a moment")
			return
		}
		if g.Registered(unknown) || g.Relation(unknown, Secret, "ns", "s").Registered {
			t.Error("a node that is not there was registered for a moment")
			return
		}
	}
}
