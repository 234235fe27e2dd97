// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopeindex"
)

// The objects of a list are in the graph before the list is complete. Only their names wait for its
// end.
func TestListObjectsAreAddedBeforeTheListEnds(t *testing.T) {
	g := graph.New(graph.Options{})
	s := New(fake.NewClientset(), g, Options{TerminatedPodGrace: -1})
	pods, volumes := s.watched[0].store, s.watched[1].store
	must(pods.Replace([]any{podOn("n1", "gone"), podOn("n1", "stays")}, "1"))
	must(volumes.Replace([]any{volumeFor("claim-of-stays", "gone")}, "1"))

	gathered := []any{}
	for store, objects := range map[*store][]any{
		pods:    {podOn("n1", "stays"), podOn("n2", "new")},
		volumes: {volumeFor("claim-of-new", "new")},
	} {
		for _, object := range objects {
			name, err := store.Transformer()(object)
			must(err)
			if _, ok := name.(identity); !ok {
				t.Errorf("%T waits for the end of the list", name)
			}
			if store == pods {
				gathered = append(gathered, name)
			}
		}
	}
	for _, row := range []struct {
		node, pod string
		before    bool
		after     bool
	}{{"n1", "gone", true, false}, {"n1", "stays", true, true}, {"n2", "new", true, true}} {
		if got := g.Reaches(row.node, graph.Secret, "ns", "secret-of-"+row.pod); got != row.before {
			t.Errorf("before the end of the list: %s reaches the secret of %s: %v", row.node, row.pod, got)
		}
	}
	must(pods.Replace(gathered, "2"))
	must(volumes.Replace([]any{identity{"", "new"}}, "2"))
	for node, pod := range map[string]string{"n1": "stays", "n2": "new"} {
		if !g.Reaches(node, graph.Secret, "ns", "secret-of-"+pod) {
			t.Errorf("%s does not reach the secret of %s", node, pod)
		}
	}
	if g.Reaches("n1", graph.Secret, "ns", "secret-of-gone") || g.Reaches("n1", graph.PersistentVolume, "", "gone") {
		t.Error("what is not in the list is still there")
	}
	if !g.Reaches("n2", graph.PersistentVolume, "", "new") {
		t.Error("the volume of the list is not there")
	}
}

// Of every resource, only the names of a list wait for its end.
func TestOnlyNamesWaitForTheEndOfAList(t *testing.T) {
	examples := New(fake.NewClientset(), graph.New(graph.Options{}),
		Options{Nodes: true, CertificateSigningRequests: true, PersistentVolumeClaims: true, TerminatedPodGrace: -1}).watched
	index := scopeindex.NewAnnotations()
	examples = append(examples, NewAnnotated(fake.NewClientset(), index, index, Options{}).watched...)
	for _, w := range examples {
		object := w.example.DeepCopyObject()
		object.(metav1.Object).SetName("x")
		if got, err := w.Transformer()(object); err != nil || got != (identity{name: "x"}) {
			t.Errorf("%s: %v (%v) waits for the end of the list", w.name, got, err)
		}
	}
}

// An object that is not a pod is not set. Replace reports it.
func TestAListWithAnotherTypeIsReported(t *testing.T) {
	s := New(fake.NewClientset(), graph.New(graph.Options{}), Options{TerminatedPodGrace: -1})
	pods := s.watched[0].store
	gathered, err := pods.Transformer()(attachmentTo("n1", "x"))
	must(err)
	if err := pods.Replace([]any{gathered}, "1"); err == nil || pods.view.progress().Synced {
		t.Errorf("Replace: %v, synced: %v", err, pods.view.progress().Synced)
	}
}

// A list reverts what a live read has shown. So the events after the list must not be skipped as
// outdated.
func TestListRevertsALiveLookup(t *testing.T) {
	g := graph.New(graph.Options{})
	pods := New(fake.NewClientset(), g, Options{TerminatedPodGrace: -1}).watched[0].store
	must(pods.Replace([]any{podIn("1", "n1", "x")}, "1"))
	if news, err := pods.fold(asObjects(podIn("9", "n2", "x"))); news != 1 || err != nil {
		t.Fatalf("%d, %v", news, err)
	}
	name, err := pods.Transformer()(podIn("5", "n1", "x"))
	must(err)
	must(pods.Replace([]any{name}, "6"))
	if !g.Reaches("n1", graph.Pod, "ns", "x") {
		t.Error("the list is not in the graph")
	}
	must(pods.Update(podIn("7", "n3", "x")))
	if !g.Reaches("n3", graph.Pod, "ns", "x") {
		t.Error("an event after the list was taken for old")
	}
}
