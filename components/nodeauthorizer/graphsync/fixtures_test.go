// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// start runs a Sync in the synthetic time of the test and waits until it is idle. It stops the Sync
// when the test ends.
func start(t *testing.T, client *fake.Clientset, options Options) (*Sync, *graph.Graph) {
	t.Helper()
	g := graph.New(graph.Options{})
	s := New(client, g, options)
	run(t, s)
	return s, g
}

// run runs the Sync until the test ends. It returns when the Sync is idle.
func run(t *testing.T, s *Sync) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	synctest.Wait()
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "ns", Name: name}
}

func podOn(node, name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: named(name), Spec: corev1.PodSpec{
		NodeName: node,
		Volumes: []corev1.Volume{
			{Name: "s", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "secret-of-" + name}}},
			{Name: "c", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "claim-of-" + name}}},
		},
	}}
}

func volumeFor(claim, name string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		ClaimRef: &corev1.ObjectReference{Namespace: "ns", Name: claim},
	}}
}

func attachmentTo(node, name string) *storagev1.VolumeAttachment {
	return &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       storagev1.VolumeAttachmentSpec{NodeName: node},
	}
}

func sliceOf(node, name string) *resourcev1.ResourceSlice {
	return &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       resourcev1.ResourceSliceSpec{NodeName: &node},
	}
}

func requestFrom(name string) *certificatesv1.PodCertificateRequest {
	return &certificatesv1.PodCertificateRequest{
		ObjectMeta: named(name),
		Spec:       certificatesv1.PodCertificateRequestSpec{NodeName: "n1"},
	}
}

// oneOfEach is a cluster in which every object called "x" is related to node n1.
func oneOfEach() []runtime.Object {
	return []runtime.Object{
		podOn("n1", "x"), volumeFor("claim-of-x", "x"), attachmentTo("n1", "x"), sliceOf("n1", "x"), requestFrom("x"),
	}
}

func asObjects(pods ...*corev1.Pod) []runtime.Object {
	objects := make([]runtime.Object, 0, len(pods))
	for _, pod := range pods {
		objects = append(objects, pod)
	}
	return objects
}

func manyNames(n int) []string {
	names := make([]string, 0, n)
	for i := range n {
		names = append(names, fmt.Sprintf("pod-%d", i))
	}
	return names
}

// Lag is the time since the server last sent anything about the resource. The second result is
// false for a resource that is not watched, is not served, or for which the server has not answered
// yet.
func (s *Sync) Lag(resource string) (time.Duration, bool) {
	for _, p := range s.Progress() {
		if p.Resource == resource && p.Served && !p.Heard.IsZero() {
			return time.Since(p.Heard), true
		}
	}
	return 0, false
}
