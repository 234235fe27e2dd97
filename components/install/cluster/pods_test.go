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

// A ready proxy uses the kubelet's port. Any user can set the label on a pod.
func TestProxiedNodes(t *testing.T) {
	proxy := func(name, node, owner string, ready corev1.ConditionStatus) *corev1.Pod {
		pod := staticPod(name, node, "kubelet-auth-proxy", nil)
		if owner != "" {
			pod.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: owner, Controller: new(true)}}
		}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
		return pod
	}
	client := &Client{Kubernetes: fake.NewClientset(
		proxy("p-1", "worker-2", proxyDaemonSet, corev1.ConditionTrue),
		proxy("p-2", "worker-1", proxyDaemonSet, corev1.ConditionTrue),
		proxy("p-3", "worker-3", proxyDaemonSet, corev1.ConditionFalse),
		proxy("p-4", "worker-4", "other", corev1.ConditionTrue),
		proxy("p-5", "worker-5", "", corev1.ConditionTrue),
	)}
	got, err := client.ProxiedNodes(t.Context())
	if diff := cmp.Diff([]string{"worker-1", "worker-2"}, got); diff != "" || err != nil {
		t.Errorf("error %v; -want +got:\n%s", err, diff)
	}
}
