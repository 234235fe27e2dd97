// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lean

import (
	"encoding/binary"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

// Kind is a kind of objects and its used fields.
type Kind struct{ event *message }

// The fields that reflectors and the graph use, for each kind.
var (
	Pods = kindOf(corev1.SchemeGroupVersion.WithKind("Pod"), only(corev1.Pod{},
		"Spec.NodeName", "Spec.ServiceAccountName", "Spec.ImagePullSecrets", "Spec.Volumes", "Spec.ResourceClaims",
		"Spec.InitContainers.EnvFrom!", "Spec.InitContainers.Env!.Name", "Spec.InitContainers.Env!.ValueFrom!",
		"Spec.Containers.EnvFrom!", "Spec.Containers.Env!.Name", "Spec.Containers.Env!.ValueFrom!",
		"Spec.EphemeralContainers.EphemeralContainerCommon!.EnvFrom!",
		"Spec.EphemeralContainers.EphemeralContainerCommon!.Env!.Name",
		"Spec.EphemeralContainers.EphemeralContainerCommon!.Env!.ValueFrom!",
		"Status.Phase", "Status.ResourceClaimStatuses", "Status.ExtendedResourceClaimStatus",
	))
	// PodsOfAccounts is for callers that need only the pod's ServiceAccount and annotations.
	PodsOfAccounts    = kindOf(corev1.SchemeGroupVersion.WithKind("Pod"), only(corev1.Pod{}, "Spec.ServiceAccountName"))
	PersistentVolumes = kindOf(corev1.SchemeGroupVersion.WithKind("PersistentVolume"),
		only(corev1.PersistentVolume{}, "Spec.PersistentVolumeSource", "Spec.ClaimRef"))
	PersistentVolumeClaims = kindOf(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"),
		only(corev1.PersistentVolumeClaim{}, "ObjectMeta.OwnerReferences"))
	Nodes             = kindOf(corev1.SchemeGroupVersion.WithKind("Node"), only(corev1.Node{}))
	VolumeAttachments = kindOf(storagev1.SchemeGroupVersion.WithKind("VolumeAttachment"),
		only(storagev1.VolumeAttachment{}, "Spec.NodeName"))
	ResourceSlices = kindOf(resourcev1.SchemeGroupVersion.WithKind("ResourceSlice"),
		only(resourcev1.ResourceSlice{}, "Spec.NodeName"))
	ServiceAccounts = kindOf(corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
		only(corev1.ServiceAccount{}, "ObjectMeta.CreationTimestamp"))
	PodCertificateRequests = kindOf(certificatesv1.SchemeGroupVersion.WithKind("PodCertificateRequest"),
		only(certificatesv1.PodCertificateRequest{}, "Spec.NodeName"))
	CertificateSigningRequests = kindOf(certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequest"),
		only(certificatesv1.CertificateSigningRequest{}, "Spec.Username"))
)

// marking keeps the annotations that are used. Pods can have many other annotations, which may be
// long.
var marking = &message{
	mentions: [][]byte{[]byte(corev1.MirrorPodAnnotationKey), []byte(metav1.InitialEventsAnnotationKey),
		[]byte(nodescope.ScopeAnnotation), []byte(nodescope.ExemptionsAnnotation), []byte(nodescope.ModeAnnotation)},
	// The key and the value of a map entry.
	fields: []*message{1: whole, 2: whole},
}

// only creates a message from the paths of the used fields, and from those that are used for every
// object.
func only(object any, paths ...string) *message {
	m := &message{}
	for _, path := range append(paths, "ObjectMeta.Name", "ObjectMeta.Namespace", "ObjectMeta.UID",
		"ObjectMeta.ResourceVersion") {
		m.read(object, path, whole)
	}
	m.read(object, "ObjectMeta.Annotations", marking)
	return m
}

// kindOf describes the object as it is encoded in a watch event. Anything else in its place, such
// as a Status, is kept unchanged.
//
// Source: k8s.io/apimachinery/pkg/runtime/serializer/protobuf Serializer.
func kindOf(kind schema.GroupVersionKind, object *message) Kind {
	apiVersion, name := kind.ToAPIVersionAndKind()
	described, err := (&runtime.TypeMeta{APIVersion: apiVersion, Kind: name}).Marshal()
	if err != nil {
		panic(fmt.Sprintf("describing %v: %v", kind, err))
	}
	begins := binary.AppendUvarint([]byte{'k', '8', 's', 0, 1<<3 | counted}, uint64(len(described)))
	wrapped := &message{begins: append(begins, described...)}
	// A second TypeMeta in the message can change the kind, so it must be kept.
	wrapped.read(runtime.Unknown{}, "TypeMeta", whole)
	wrapped.read(runtime.Unknown{}, "Raw", object)
	wrapped.read(runtime.Unknown{}, "ContentEncoding", whole)
	wrapped.read(runtime.Unknown{}, "ContentType", whole)
	event := &message{}
	event.read(metav1.WatchEvent{}, "Type", whole)
	event.read(metav1.WatchEvent{}, "Object.Raw", wrapped)
	return Kind{event}
}
