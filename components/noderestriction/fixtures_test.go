// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// aNode returns a Node as a kubelet registers it. Its UID is its name with the suffix -uid.
func aNode(name string, edits ...func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID(name + "-uid"), ResourceVersion: "1",
		Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"},
	}}
	for _, edit := range edits {
		edit(node)
	}
	return node
}

// aPod returns a pod that is bound to a node. Its UID is its name with the suffix -uid.
func aPod(namespace, name, node string, edits ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID(name + "-uid"), ResourceVersion: "1",
			Labels: map[string]string{"app": name},
		},
		Spec: corev1.PodSpec{
			NodeName: node, ServiceAccountName: "default",
			Containers: []corev1.Container{{Name: "c", Image: "registry.k8s.io/pause:3.10"}},
		},
	}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

// aMirrorPod returns the mirror pod of a static pod, as a node's kubelet creates it.
func aMirrorPod(node string, edits ...func(*corev1.Pod)) *corev1.Pod {
	controller := true
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "kube-system", Name: "static-" + node,
			Annotations: map[string]string{
				corev1.MirrorPodAnnotationKey: "hash",
				"kubernetes.io/config.hash":   "hash",
				"kubernetes.io/config.seen":   "2026-01-01T00:00:00Z",
				"kubernetes.io/config.source": "file",
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "Node", Name: node, UID: types.UID(node + "-uid"), Controller: &controller,
			}},
		},
		Spec: corev1.PodSpec{
			NodeName:   node,
			Containers: []corev1.Container{{Name: "c", Image: "registry.k8s.io/pause:3.10"}},
			Volumes: []corev1.Volume{{Name: "host", VolumeSource: corev1.VolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: "/etc/kubernetes"},
			}}},
		},
	}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

// aCluster has the nodes me and other. The pod default/mine is bound to me, and default/theirs to
// other. Tests may change the maps.
func aCluster() *fakeCluster {
	return &fakeCluster{
		nodes: map[string]*corev1.Node{"me": aNode("me"), "other": aNode("other")},
		pods: map[string]*corev1.Pod{
			"default/mine":   aPod("default", "mine", "me"),
			"default/theirs": aPod("default", "theirs", "other"),
		},
		namespaces: map[string]*corev1.Namespace{
			"default":     {ObjectMeta: metav1.ObjectMeta{Name: "default"}},
			"kube-system": {ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}},
		},
		serviceAccounts: map[string]*corev1.ServiceAccount{
			"default/default": {ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "default", UID: "default-uid"}},
		},
		counts:    map[counted]int{},
		histories: map[string]NodeHistory{},
	}
}
