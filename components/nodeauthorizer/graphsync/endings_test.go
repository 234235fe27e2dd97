// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const grace = 30 * time.Second

func endedPod(version, name string, uid types.UID) *corev1.Pod {
	pod := podIn(version, "n1", name)
	pod.UID = uid
	pod.Status.Phase = corev1.PodSucceeded
	return pod
}

// endingWorld is a Sync of which only endings runs, with a fake clock.
type endingWorld struct {
	*Sync
	t     *testing.T
	graph *graph.Graph
	pods  *store
	clock *clocktesting.FakeClock
}

func newEndingWorld(t *testing.T, grace time.Duration) *endingWorld {
	g := graph.New(graph.Options{Ended: rules.Enforce})
	fakeClock := clocktesting.NewFakeClock(time.Now())
	s := New(fake.NewClientset(), g, Options{TerminatedPodGrace: grace, Clock: fakeClock})
	w := &endingWorld{Sync: s, t: t, graph: g, pods: s.watched[0].store, clock: fakeClock}
	s.watched = nil
	run(t, s)
	return w
}

func (w *endingWorld) pass(d time.Duration) {
	synctest.Wait()
	w.clock.Step(d)
	synctest.Wait()
}

func (w *endingWorld) expect(secret bool, name, when string) {
	w.t.Helper()
	synctest.Wait()
	if got := w.graph.Reaches("n1", graph.Secret, "ns", "secret-of-"+name); got != secret {
		w.t.Errorf("%s: the secret of pod %s reaches the node: %v, want %v", when, name, got, secret)
	}
}

func TestTerminatedPodsKeepAccessForTheGracePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newEndingWorld(t, grace)
		running := endedPod("1", "runs", "r")
		running.Status.Phase = corev1.PodRunning
		must(w.pods.Replace([]any{running, endedPod("2", "x", "1")}, "2"))
		w.pass(grace / 2)
		must(w.pods.Update(endedPod("3", "x", "1")))
		must(w.pods.Add(endedPod("4", "y", "2")))
		if n := len(w.endings.queue); n != 2 {
			t.Errorf("%d in the queue for two pods", n)
		}
		w.pass(grace/2 - 1)
		w.expect(true, "x", "just before the end of its grace")
		w.pass(1)
		w.expect(false, "x", "at the end of its grace, which an update does not prolong")
		w.expect(true, "y", "half way through its grace")
		for what, kind := range map[string]graph.Kind{"x": graph.Pod, "claim-of-x": graph.PersistentVolumeClaim} {
			if !w.graph.Reaches("n1", kind, "ns", what) {
				t.Errorf("%v %s is gone with the grace", kind, what)
			}
		}
		w.pass(grace / 2)
		w.expect(false, "y", "at the end of its grace")
		w.expect(true, "runs", "after the end of others")
		must(w.pods.Replace([]any{running, endedPod("5", "x", "1")}, "5"))
		w.expect(false, "x", "listed again")
		must(w.pods.Update(running))
		w.pass(grace)
		w.expect(true, "runs", "long after")
		if len(w.endings.queue)+len(w.endings.queued) > 0 {
			t.Errorf("left in the queue: %v, %v", w.endings.queue, w.endings.queued)
		}
	})
}

func TestADeletedPodsGraceIsNotItsSuccessors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newEndingWorld(t, grace)
		must(w.pods.Replace([]any{endedPod("2", "x", "1")}, "2"))
		must(w.pods.Delete(endedPod("3", "x", "1")))
		successor := endedPod("4", "x", "2")
		successor.Status.Phase = corev1.PodRunning
		must(w.pods.Add(successor))
		w.pass(grace)
		w.expect(true, "x", "after the grace of a pod of the same name")
		must(w.pods.Update(endedPod("5", "x", "2")))
		w.pass(grace - 1)
		w.expect(true, "x", "before the end of its own grace")
		w.pass(1)
		w.expect(false, "x", "after its own grace")
	})
}

func TestGraceOfLiveReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newEndingWorld(t, grace)
		must(w.pods.Replace(nil, "2"))
		if _, err := w.pods.fold(asObjects(endedPod("3", "x", "1"))); err != nil {
			t.Fatal(err)
		}
		w.pass(grace - 1)
		w.expect(true, "x", "before the end of its grace")
		must(w.pods.Add(endedPod("3", "x", "1")))
		w.pass(1)
		w.expect(false, "x", "a grace after the live read")
	})
}

func TestGraceCanBeZeroOrUnlimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		none, endless := newEndingWorld(t, 0), newEndingWorld(t, -1)
		for _, w := range []*endingWorld{none, endless} {
			must(w.pods.Replace([]any{endedPod("2", "x", "1")}, "2"))
		}
		none.expect(false, "x", "without a grace")
		endless.pass(1000 * time.Hour)
		endless.expect(true, "x", "with a grace that never ends")
		if n := len(none.endings.queue) + len(endless.endings.queue); n > 0 {
			t.Errorf("%d pods wait for what never comes", n)
		}
	})
}

// A list can contain a hundred thousand pods that ended long ago. They become due together, and
// nothing of them stays in memory.
func TestManyPodsEndAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newEndingWorld(t, grace)
		var listed []any
		for _, name := range manyNames(1000) {
			listed = append(listed, endedPod("1", name, types.UID(name)))
		}
		must(w.pods.Replace(listed, "1"))
		w.pass(grace)
		for _, name := range manyNames(1000) {
			w.expect(false, name, "after the grace")
		}
		if len(w.endings.queued) > 0 {
			t.Errorf("%d UIDs are kept", len(w.endings.queued))
		}
	})
}
