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
)

// TestAnswersDependOnlyOnWhatExists sends random sequences of events through a
// graph. Its answers must be those of a search for a path among what exists, and
// those of a graph that never knew anything else; its size must be the size of
// what exists.
//
// A failure prints its seed; GRAPH_SEED=<seed> runs that sequence first.
func TestAnswersDependOnlyOnWhatExists(t *testing.T) {
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

func runSequence(t *testing.T, seed uint64) bool {
	d := dice{rand.New(rand.NewPCG(seed, 0))}
	w, g := newWorld(), New()
	for step := range 200 {
		w.step(d, g)
		if step%8 == 0 && !agrees(t, w, g) {
			return false
		}
	}
	fresh := New()
	w.fill(fresh)
	return agrees(t, w, g) && agrees(t, w, fresh) && isEmptyAgain(t, w, g, d) && !t.Failed()
}

// step changes one thing in the world and tells the graph.
func (w *world) step(d dice, g *Graph) {
	drop := d.IntN(3) == 0
	switch d.IntN(16) {
	case 0:
		w.replaceAll(d, g)
	case 1, 2, 3, 4, 5, 6, 7:
		w.stepPod(d, g, drop)
	case 8, 9, 10, 11:
		w.stepVolume(d, g, drop)
	case 12:
		w.stepAttachment(d, g, drop)
	case 13:
		w.stepSlice(d, g, drop)
	default:
		w.stepRequest(d, g, drop)
	}
}

// replaceAll forgets a third of the world, adds to it and re-lists it.
func (w *world) replaceAll(d dice, g *Graph) {
	for id := range w.pods {
		if d.IntN(3) == 0 {
			delete(w.pods, id)
		}
	}
	for name := range w.volumes {
		if d.IntN(3) == 0 {
			delete(w.volumes, name)
		}
	}
	clear(w.attachments)
	clear(w.slices)
	clear(w.requests)
	w.pods[d.in()] = d.pod()
	w.volumes[d.name()] = d.volume()
	w.attachments[d.name()] = d.node()
	w.slices[d.name()] = d.node()
	w.requests[d.in()] = d.node()
	w.fill(g)
}

func (w *world) stepPod(d dice, g *Graph, drop bool) {
	id := d.in()
	if drop {
		delete(w.pods, id)
		g.DeletePod(id.namespace, id.name)
		return
	}
	w.pods[id] = d.pod()
	g.SetPod(w.pods[id].object(id))
}

func (w *world) stepVolume(d dice, g *Graph, drop bool) {
	name := d.name()
	if drop {
		delete(w.volumes, name)
		g.DeletePersistentVolume(name)
		return
	}
	w.volumes[name] = d.volume()
	g.SetPersistentVolume(w.volumes[name].object(name))
}

func (w *world) stepAttachment(d dice, g *Graph, drop bool) {
	name := d.name()
	if drop {
		delete(w.attachments, name)
		g.DeleteVolumeAttachment(name)
		return
	}
	w.attachments[name] = d.node()
	g.SetVolumeAttachment(attachmentTo(w.attachments[name], name))
}

func (w *world) stepSlice(d dice, g *Graph, drop bool) {
	name := d.name()
	if drop {
		delete(w.slices, name)
		g.DeleteResourceSlice(name)
		return
	}
	w.slices[name] = d.node()
	g.SetResourceSlice(sliceOf(w.slices[name], name))
}

func (w *world) stepRequest(d dice, g *Graph, drop bool) {
	id := d.in()
	if drop {
		delete(w.requests, id)
		g.DeletePodCertificateRequest(id.namespace, id.name)
		return
	}
	w.requests[id] = d.node()
	g.SetPodCertificateRequest(requestFrom(w.requests[id], id.namespace, id.name))
}

// agrees asks for every node and every object that the dice can make.
func agrees(t *testing.T, w *world, g *Graph) bool {
	edges := w.edges()
	if diff := gocmp.Diff(stats(edges), g.Stats()); diff != "" {
		t.Errorf("Stats (-of what exists +of the graph):\n%s", diff)
		return false
	}
	for _, kind := range Kinds() {
		for _, namespace := range []string{"", "ns1", "ns2"} {
			for _, name := range []string{"a", "b", "c"} {
				for _, node := range []string{"n1", "n2", "n3", ""} {
					object := vertex{kind, identity{namespace, name}}
					want := node != "" && hasPath(edges, object, nodeVertex(node))
					if got := g.Reaches(node, kind, namespace, name); got != want {
						t.Errorf("Reaches(%q, %v, %q, %q) = %v, want %v", node, kind, namespace, name, got, want)
						return false
					}
				}
			}
		}
	}
	return true
}

// isEmptyAgain deletes everything, by events or by lists, and looks for leftovers.
func isEmptyAgain(t *testing.T, w *world, g *Graph, d dice) bool {
	if d.IntN(2) == 0 {
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

func (w *world) deleteEach(g *Graph) {
	for name := range w.volumes {
		g.DeletePersistentVolume(name)
	}
	for id := range w.pods {
		g.DeletePod(id.namespace, id.name)
	}
	for name := range w.attachments {
		g.DeleteVolumeAttachment(name)
	}
	for name := range w.slices {
		g.DeleteResourceSlice(name)
	}
	for id := range w.requests {
		g.DeletePodCertificateRequest(id.namespace, id.name)
	}
}

// leftovers describes what a graph without objects should not have.
func (s *state) leftovers() string {
	for i := range s.objects.index.shards {
		if shard := s.objects.index.shards[i]; shard.slots != nil || shard.live != 0 {
			return fmt.Sprintf("shard %d has %d slots, %d live", i, len(shard.slots), shard.live)
		}
	}
	for i := range s.objects.end {
		if left := s.objects.at(i); left.holders != 0 || left.name != "" || left.detail != 0 || left.nodes.n != 0 || left.nodes.many != nil {
			return fmt.Sprintf("object %d is %+v", i, left)
		}
	}
	switch {
	case s.objects.len() != 0:
		return fmt.Sprintf("%d objects", s.objects.len())
	case s.pods.len() != 0:
		return fmt.Sprintf("%d pods", s.pods.len())
	case s.volumes.len() != 0:
		return fmt.Sprintf("%d volumes", s.volumes.len())
	case len(s.nodes.numbers) != 0:
		return fmt.Sprintf("nodes %v", s.nodes.numbers)
	case len(s.objects.namespaces.numbers) != 0:
		return fmt.Sprintf("namespaces %v", s.objects.namespaces.numbers)
	}
	return ""
}
