// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Shape says how large a world is and what is in it. The names and sizes are
// those of upstream's sampleDataOpts.
type Shape struct {
	Nodes, PodsPerNode, Namespaces, AttachmentsPerNode int
	// Own gives each pod a secret, a config map and a claim of its own, and the claim
	// a volume with a secret; and one secret that its namespace shares.
	Own bool
	// SharedConfigMap gives all pods of a namespace one config map.
	SharedConfigMap bool
	// Everything adds what upstream's benchmarks leave out: a resource claim, a
	// certificate request and a token for each pod, a signing request for each node.
	Everything bool
}

// The shapes of upstream's BenchmarkPopulation and BenchmarkAuthorization, of
// BenchmarkWriteIndexMaintenance, and of BenchmarkUnauthorizedRequests.
var (
	Population   = Shape{Nodes: 500, PodsPerNode: 200, Namespaces: 200, AttachmentsPerNode: 20, Own: true}
	OneNamespace = Shape{Nodes: 5000, PodsPerNode: 1, Namespaces: 1, AttachmentsPerNode: 20, Own: true}
	Unauthorized = Shape{Nodes: 5000, PodsPerNode: 1, Namespaces: 1, SharedConfigMap: true}
)

// World is what a cluster holds that decides what nodes may do.
type World struct {
	Nodes        []*corev1.Node
	Pods         []*corev1.Pod
	Volumes      []*corev1.PersistentVolume
	Attachments  []*storagev1.VolumeAttachment
	Slices       []*resourcev1.ResourceSlice
	Certificates []*certificatesv1.PodCertificateRequest
	Signing      []*certificatesv1.CertificateSigningRequest
}

// NewWorld makes a world. Two of the same shape are equal.
func NewWorld(shape Shape) *World {
	w := &World{}
	for n := range shape.Nodes {
		node := fmt.Sprintf("node%d", n)
		w.Nodes = append(w.Nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node, UID: types.UID("uid-" + node)}})
		for p := range shape.PodsPerNode {
			w.addPod(shape, fmt.Sprintf("pod%d-%s", p, node), fmt.Sprintf("ns%d", p%shape.Namespaces), node)
		}
		for a := range shape.AttachmentsPerNode {
			attachment := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("attachment%d-%s", a, node)}}
			attachment.Spec.NodeName = node
			w.Attachments = append(w.Attachments, attachment)
		}
		slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "slice0-" + node}}
		slice.Spec.NodeName = &node
		w.Slices = append(w.Slices, slice)
		if shape.Everything {
			request := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "csr-" + node}}
			request.Spec.Username = "system:node:" + node
			w.Signing = append(w.Signing, request)
		}
	}
	return w
}

func (w *World) addPod(shape Shape, name, namespace, node string) {
	pod := barePod(name, namespace, node)
	if shape.Own {
		w.giveOwn(pod)
	}
	if shape.SharedConfigMap {
		pod.Spec.Volumes = append(pod.Spec.Volumes, configMapVolume("configmap0-shared"))
	}
	if shape.Everything {
		w.giveEverything(pod)
	}
	w.Pods = append(w.Pods, pod)
}

func barePod(name, namespace, node string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: types.UID("uid-" + name)}}
	pod.Spec.NodeName = node
	pod.Spec.ServiceAccountName = "svcacct-" + name
	return pod
}

func (w *World) giveOwn(pod *corev1.Pod) {
	claim := "pvc0-" + pod.Name
	pod.Spec.Volumes = append(pod.Spec.Volumes,
		secretVolume("secret0-"+pod.Name), secretVolume("secret0-shared"), configMapVolume("configmap0-"+pod.Name),
		corev1.Volume{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv0-" + pod.Name + "-" + pod.Namespace}}
	volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: pod.Namespace, Name: claim}
	volume.Spec.FlexVolume = &corev1.FlexPersistentVolumeSource{SecretRef: &corev1.SecretReference{Name: "secret-" + volume.Name}}
	w.Volumes = append(w.Volumes, volume)
}

func (w *World) giveEverything(pod *corev1.Pod) {
	claim := "claim0-" + pod.Name
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "claim0", ResourceClaimName: &claim}}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
			{PodCertificate: &corev1.PodCertificateProjection{SignerName: "example.com/signer"}},
		}},
	}})
	request := &certificatesv1.PodCertificateRequest{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: "pcr0-" + pod.Name}}
	request.Spec.NodeName = types.NodeName(pod.Spec.NodeName)
	request.Spec.PodName, request.Spec.PodUID, request.Spec.ServiceAccountName = pod.Name, pod.UID, pod.Spec.ServiceAccountName
	w.Certificates = append(w.Certificates, request)
}

func secretVolume(name string) corev1.Volume {
	return corev1.Volume{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}}
}

func configMapVolume(name string) corev1.Volume {
	return corev1.Volume{VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: name},
	}}}
}
