// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopeindex

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestPods(t *testing.T) {
	w := newWorld()
	w.SetAccount(serviceAccount("agent", none, none))
	w.set(pod("plain", "1", none))
	w.set(pod("held", "2", "pods"))
	w.set(pod("broken", "3", "pods/*"))
	for name, want := range map[string]struct {
		uid           types.UID
		pods, secrets bool
	}{"plain": {"1", false, false}, "held": {"2", true, false}, "broken": {"3", true, true}} {
		p, known := w.Pod("ns", name)
		if !known || p.UID != want.uid || p.NodeName != "n" || p.RunsAs != "agent" || p.Scope.Covers(pods) != want.pods ||
			p.Scope.Covers(secrets) != want.secrets {
			t.Errorf("%s: got %+v, %v", name, p, known)
		}
	}
	if _, known := w.Pod("other", "held"); known {
		t.Error("a pod of another namespace is known")
	}
	if diff := cmp.Diff(Stats{Pods: 2, UnreadPods: 1}, w.Stats()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w.remove("held")
	if _, known := w.Pod("ns", "held"); known {
		t.Error("a deleted pod is known")
	}
	w.set(pod("broken", "3", none))
	if p, known := w.Pod("ns", "broken"); !known || p.Scope.Covers(pods) {
		t.Error("an annotation that was removed counts")
	}
	if len(w.pods) != 0 || len(w.ofPods) != 0 || len(w.values.known) != 0 {
		t.Errorf("left are %v, %v, %v", w.pods, w.ofPods, w.values.known)
	}
}

func TestMirrorPodsHaveNoAccount(t *testing.T) {
	w := newWorld()
	mirror := pod("mirror", "1", none)
	mirror.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	w.set(mirror)
	if p, known := w.Pod("ns", "mirror"); !known || p.RunsAs != "" || p.NodeName != "n" {
		t.Errorf("got %+v, %v", p, known)
	}
}

// Between the update of the index and the update of the graph, a reader never finds a pod
// without its annotation.
func TestAReplacedPodIsNotSeenWithoutItsAnnotation(t *testing.T) {
	for _, next := range []string{none, "secrets"} {
		w := newWorld()
		w.set(pod("p", "before", "pods"))
		w.SetPod(pod("p", "after", next))
		if p, known := w.Pod("ns", "p"); known {
			t.Errorf("before the graph knows, got %+v", p)
		}
		w.graph.SetPod(pod("p", "after", next))
		if p, known := w.Pod("ns", "p"); !known || p.UID != "after" || p.Scope.Covers(pods) ||
			p.Scope.Covers(secrets) != (next == "secrets") {
			t.Errorf("afterwards, got %+v, %v", p, known)
		}
		w.remove("p")
		if len(w.pods) != 0 || len(w.values.known) != 0 {
			t.Errorf("left are %v, %v", w.pods, w.values.known)
		}
	}
}
