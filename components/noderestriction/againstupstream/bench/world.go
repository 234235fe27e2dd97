// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/againstupstream/world"
)

const (
	me, other = "node-1", "node-2"
	namespace = "default"
)

// newWorld has a hundred nodes and two thousand pods, of which mine and theirs have
// volumes of every kind that leads to an audience.
func newWorld() *world.World {
	w := &world.World{
		Accounts: []*corev1.ServiceAccount{{ObjectMeta: metaOf(namespace, "default")}},
		Claims:   []*corev1.PersistentVolumeClaim{{ObjectMeta: metaOf(namespace, "claim"), Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "volume"}}},
		Volumes: []*corev1.PersistentVolume{{ObjectMeta: metaOf("", "volume"), Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
			CSI: &corev1.CSIPersistentVolumeSource{Driver: "claims.example.com"},
		}}}},
		Drivers: []*storagev1.CSIDriver{
			{ObjectMeta: metaOf("", "claims.example.com"), Spec: storagev1.CSIDriverSpec{TokenRequests: []storagev1.TokenRequest{{Audience: "claims"}}}},
			{ObjectMeta: metaOf("", "inline.example.com"), Spec: storagev1.CSIDriverSpec{TokenRequests: []storagev1.TokenRequest{{Audience: "inline"}}}},
		},
	}
	for i := range 100 {
		w.Nodes = append(w.Nodes, newNode(fmt.Sprint("node-", i)))
	}
	for i := range 2000 {
		w.Pods = append(w.Pods, newPod(fmt.Sprint("pod-", i), fmt.Sprint("node-", i%100)))
	}
	w.Pods = append(w.Pods, newPod("mine", me), newPod("theirs", other))
	return w
}

func metaOf(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(name + "-uid"), ResourceVersion: "12345",
		CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
	}
}

// newNode is as a kubelet keeps it: with conditions, addresses and fifty images.
func newNode(name string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metaOf("", name)}
	node.Labels = map[string]string{
		corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64", "beta.kubernetes.io/os": "linux",
		"beta.kubernetes.io/arch": "amd64", corev1.LabelTopologyZone: "a", corev1.LabelInstanceTypeStable: "large",
	}
	node.Annotations = map[string]string{"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
	node.Spec = corev1.NodeSpec{PodCIDR: "10.244.1.0/24", Taints: []corev1.Taint{{Key: "dedicated", Value: "x", Effect: corev1.TaintEffectNoSchedule}}}
	node.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("32Gi")}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}, {Type: corev1.NodeHostName, Address: name}}
	for _, kind := range []corev1.NodeConditionType{corev1.NodeReady, corev1.NodeDiskPressure, corev1.NodeMemoryPressure, corev1.NodePIDPressure} {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: kind, Status: corev1.ConditionFalse})
	}
	for i := range 50 {
		node.Status.Images = append(node.Status.Images, corev1.ContainerImage{Names: []string{fmt.Sprint("registry.example.com/image:", i)}, SizeBytes: 1 << 20})
	}
	return node
}

// newPod has two containers and a volume of each kind that rules look at.
func newPod(name, node string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metaOf(namespace, name)}
	pod.Labels = map[string]string{"app": "x", "pod-template-hash": "abc", "tier": "web"}
	pod.Spec = corev1.PodSpec{
		NodeName: node, ServiceAccountName: "default",
		Containers: []corev1.Container{{Name: "a", Image: "registry.example.com/a"}, {Name: "b", Image: "registry.example.com/b"}},
		Volumes: []corev1.Volume{
			{Name: "empty", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "claim", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "claim"}}},
			{Name: "inline", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "inline.example.com"}}},
			{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: "vault", Path: "vault"}},
				{PodCertificate: &corev1.PodCertificateProjection{SignerName: "example.com/signer"}},
			}}}},
		},
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "a"}, {Name: "b"}}}
	claim := name + "-gpu"
	pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: &claim}}
	return pod
}
