// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func staticPod(name, node, component string, annotations map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, Annotations: annotations,
			Labels: map[string]string{"app.kubernetes.io/name": component}},
		Spec: corev1.PodSpec{NodeName: node},
	}
}

func TestComponentNodesAreThoseWithAMirrorPod(t *testing.T) {
	mirror := map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	client := &Client{Kubernetes: fake.NewClientset(
		staticPod("a-cp-1", "cp-1", "node-authorizer", mirror),
		staticPod("a-cp-0", "cp-0", "node-authorizer", mirror),
		staticPod("c-cp-2", "cp-2", "certs", mirror),
		staticPod("pretender", "cp-3", "node-authorizer", nil),
	)}
	got, err := client.ComponentNodes(t.Context(), "node-authorizer")
	if diff := cmp.Diff([]string{"cp-0", "cp-1"}, got); diff != "" || err != nil {
		t.Errorf("error %v; -want +got:\n%s", err, diff)
	}
}

func TestMirrorPod(t *testing.T) {
	client := &Client{Kubernetes: fake.NewClientset(staticPod("bulkhead-certs-cp-0", "cp-0", "certs", nil))}
	for node, want := range map[string]bool{"cp-0": true, "cp-1": false} {
		if pod, err := client.MirrorPod(t.Context(), "bulkhead-certs", node); err != nil || (pod != nil) != want {
			t.Errorf("%s: %v, %v", node, pod, err)
		}
	}
}
