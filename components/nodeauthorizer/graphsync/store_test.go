// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

func podStore(g *graph.Graph) *store {
	return newStore(
		typed[*corev1.Pod]{set: g.SetPod, remove: g.DeletePod, retain: retaining(g, graph.Pod)},
		newView(Pods),
	)
}

func TestDelete(t *testing.T) {
	for _, row := range []struct {
		name    string
		deleted any
		fault   bool
		remains bool
	}{
		{"an object goes", podOn("n1", "x"), false, false},
		{"tombstone with an object: removed", cache.DeletedFinalStateUnknown{Key: "ns/x", Obj: podOn("n1", "x")}, false,
			false},
		{"tombstone with only a key: removed", cache.DeletedFinalStateUnknown{Key: "ns/x"}, false, false},
		{"another object leaves it", podOn("n1", "y"), false, true},
		{"a key that cannot be read is a fault", cache.DeletedFinalStateUnknown{Key: "a/b/c"}, true, true},
		{"an object of another type is a fault", attachmentTo("n1", "x"), true, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := graph.New(graph.Options{})
			g.SetPod(podOn("n1", "x"))
			if err := podStore(g).Delete(row.deleted); (err != nil) != row.fault {
				t.Errorf("Delete: %v, want a fault: %v", err, row.fault)
			}
			if got := g.Reaches("n1", graph.Pod, "ns", "x"); got != row.remains {
				t.Errorf("pod remains: %v, want %v", got, row.remains)
			}
		})
	}
}

func TestReplaceWithAnotherTypeDoesNotSync(t *testing.T) {
	g := graph.New(graph.Options{})
	s := podStore(g)
	if err := s.Replace([]any{podOn("n1", "x"), attachmentTo("n1", "x")}, "1"); err == nil {
		t.Error("Replace takes an object of another type")
	}
	if s.view.progress().Synced {
		t.Error("synced by a list that could not be read")
	}
	if err := s.Replace([]any{podOn("n1", "x")}, "1"); err != nil {
		t.Error(err)
	}
	if !s.view.progress().Synced {
		t.Error("not synced by a list")
	}
}

func TestUpdateWithAnotherTypeIsAFault(t *testing.T) {
	if err := podStore(graph.New(graph.Options{})).Update(attachmentTo("n1", "x")); err == nil {
		t.Error("Update takes an object of another type")
	}
}
