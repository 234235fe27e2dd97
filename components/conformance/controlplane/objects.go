// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Size is the size of the cluster.
type Size struct {
	Nodes, Pods int
	// Namespaces is the number of namespaces. Each has the same number of pods.
	Namespaces int
}

// every is the distance between pods with a claim, a volume and an attachment: every fifth pod has
// them.
const every = 5

// HasVolume reports whether pod n has a claim, a volume and an attachment.
func (s Size) HasVolume(n int) bool { return n%every == 0 }

func nodeName(n int) string { return fmt.Sprintf("node-%05d", n) }

// uidOf returns a UID in the usual format.
func uidOf(kind byte, n int) types.UID {
	return types.UID(fmt.Sprintf("%02x0c8a4e-5b1d-4f3a-9c2e-%012x", kind, n))
}

func (s Size) meta(kind byte, namespace, name string, n int) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:              name,
		Namespace:         namespace,
		UID:               uidOf(kind, n),
		CreationTimestamp: metav1.NewTime(time.Unix(1700000000+int64(n), 0)),
	}
}

// node returns a Node as a kubelet reports it, with its images.
func (s Size) node(n int) *corev1.Node {
	node := &corev1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: s.meta(1, "", nodeName(n), n),
	}
	node.Labels = map[string]string{
		"kubernetes.io/hostname": node.Name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
		"topology.kubernetes.io/zone": fmt.Sprintf("zone-%d", n%3), "node.kubernetes.io/instance-type": "large",
	}
	node.Status.Capacity = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(
			"16",
		),
		corev1.ResourceMemory: resource.MustParse("64Gi"),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
	for _, condition := range []corev1.NodeConditionType{"MemoryPressure", "DiskPressure", "PIDPressure", "Ready"} {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
			Type:               condition,
			Status:             "False",
			Reason:             "KubeletReports",
			Message:            "as a kubelet words it, at some length",
			LastHeartbeatTime:  node.CreationTimestamp,
			LastTransitionTime: node.CreationTimestamp,
		})
	}
	for i := range 20 {
		image := fmt.Sprintf("registry.example.com/team/program-%d", i)
		node.Status.Images = append(node.Status.Images, corev1.ContainerImage{
			Names: []string{
				image + ":v1.2.3",
				image + "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
			},
			SizeBytes: 50_000_000,
		})
	}
	return node
}

// Pod returns a pod with a ConfigMap, a Secret and a token. Every fifth pod also has a claim.
func (s Size) Pod(n int) *corev1.Pod {
	namespace := fmt.Sprintf("namespace-%03d", n%s.Namespaces)
	app := fmt.Sprintf("application-%05d", n/10)
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: s.meta(2, namespace, fmt.Sprintf("%s-7d9c5b8f6d-%05x", app, n), n),
		Spec:       podSpec(app),
		Status:     podStatus(),
	}
	pod.Labels = map[string]string{
		"app.kubernetes.io/name":     app,
		"app.kubernetes.io/instance": "production",
		"pod-template-hash":          "7d9c5b8f6d",
	}
	controller := true
	pod.OwnerReferences = []metav1.OwnerReference{
		{
			APIVersion:         "apps/v1",
			Kind:               "ReplicaSet",
			Name:               app + "-7d9c5b8f6d",
			UID:                uidOf(9, n/10),
			Controller:         &controller,
			BlockOwnerDeletion: &controller,
		},
	}
	pod.ManagedFields = managedFields()
	pod.Spec.NodeName = nodeName(n % s.Nodes)
	if s.HasVolume(n) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claimName(n)},
		}})
	}
	return pod
}

func claimName(n int) string  { return fmt.Sprintf("data-%05d", n) }
func volumeName(n int) string { return "pvc-" + string(uidOf(4, n)) }

func (s Size) claim(n int) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: s.meta(3, fmt.Sprintf("namespace-%03d", n%s.Namespaces), claimName(n), n),
	}
	claim.Spec.VolumeName, claim.Status.Phase = volumeName(n), corev1.ClaimBound
	claim.ManagedFields = managedFields()[:1]
	return claim
}

// Volume returns the volume of pod n. Only every fifth pod has one.
func (s Size) Volume(n int) *corev1.PersistentVolume {
	volume := &corev1.PersistentVolume{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"},
		ObjectMeta: s.meta(4, "", volumeName(n), n),
	}
	claim := s.claim(n)
	volume.Spec.ClaimRef = &corev1.ObjectReference{
		Kind:       "PersistentVolumeClaim",
		APIVersion: "v1",
		Namespace:  claim.Namespace,
		Name:       claim.Name,
		UID:        claim.UID,
	}
	volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{
		Driver: "csi.example.com", VolumeHandle: volume.Name, FSType: "ext4",
		NodeStageSecretRef: &corev1.SecretReference{Namespace: "kube-system", Name: "csi-stage"},
	}
	volume.Status.Phase = corev1.VolumeBound
	return volume
}

// Attachment returns the attachment of the volume of pod n.
func (s Size) Attachment(n int) *storagev1.VolumeAttachment {
	attachment := &storagev1.VolumeAttachment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "VolumeAttachment"},
		ObjectMeta: s.meta(5, "", "csi-"+string(uidOf(5, n)), n),
	}
	name := volumeName(n)
	attachment.Spec = storagev1.VolumeAttachmentSpec{
		Attacher: "csi.example.com",
		NodeName: nodeName(n % s.Nodes),
		Source:   storagev1.VolumeAttachmentSource{PersistentVolumeName: &name},
	}
	attachment.Status.Attached = true
	return attachment
}
