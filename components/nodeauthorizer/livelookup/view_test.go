// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package livelookup

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graphsync"
)

func boundPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x", UID: "1", ResourceVersion: "11"},
		Spec:       corev1.PodSpec{NodeName: "n1", ImagePullSecrets: []corev1.LocalObjectReference{{Name: "s"}}},
	}
}

// The watch of pods is delayed: it has reached version 10, and the pod was bound at 11. A live read
// shows the pod immediately. The watch removes it when it reaches the deletion of the pod.
func TestLiveLookupIsAheadOfTheWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		late := watch.NewRaceFreeFake()
		client.PrependWatchReactor("pods", clienttesting.DefaultWatchReactor(late, nil))
		client.PrependReactor("list", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
			list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "10"}}
			if asked, ok := action.(clienttesting.ListActionImpl); ok && asked.ListOptions.FieldSelector != "" {
				list.Items = []corev1.Pod{*boundPod()}
			}
			return true, list, nil
		})
		g := graph.New(graph.Options{})
		view := graphsync.New(client, g, graphsync.Options{TerminatedPodGrace: -1})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			view.Run(ctx)
		}()
		synctest.Wait()
		r := New(Config{Client: client, View: view, Registry: metrics.NewKubeRegistry()})
		expect := func(want bool, when string) {
			t.Helper()
			synctest.Wait()
			if got := g.Reaches("n1", graph.Secret, "ns", "s"); got != want {
				t.Errorf("%s: secret reaches the node: %v, want %v", when, got, want)
			}
		}
		expect(false, "before the read")
		if why := secret(t.Context(), r, "n1", "s"); why != "" {
			t.Error(why)
		}
		expect(true, "after the read")
		late.Add(boundPod())
		expect(true, "after the watch has come to it")
		gone := boundPod()
		gone.ResourceVersion = "12"
		late.Delete(gone)
		expect(false, "after its end")
		if why := secret(t.Context(), r, "n1", "s"); why != "" {
			t.Error(why)
		}
		expect(false, "after a read that is older than its end")
		cancel()
		<-done
		time.Sleep(3 * time.Second)
	})
}
