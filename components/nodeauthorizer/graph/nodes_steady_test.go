// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// While other nodes are added and removed, a registered node stays registered and an unknown node
// stays unknown. Relation and Registered agree while no write concerns that node.
func TestRegisteredIsSteadyWhileOthersChange(t *testing.T) {
	const steady = 512
	g := New(Options{})
	var stay []*corev1.Node
	for i := range steady {
		stay = append(stay, nodeNamed(fmt.Sprint("steady-", i)))
	}
	replaceNodes(g, stay...)

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
	replaceNodes(g)
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
			replaceNodes(g, stay...)
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
