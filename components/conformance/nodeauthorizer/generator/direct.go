// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// Attachment is a volume attachment.
type Attachment struct{ Name, Node string }

// Slice is a resource slice. If Node is "", it belongs to no single node.
type Slice struct{ Name, Node string }

// Certificate is a pod certificate request.
type Certificate struct{ Namespace, Name, Node string }

// Key implements [Object].
func (a Attachment) Key() Key { return Key{graph.VolumeAttachment, "", a.Name} }

// Key implements [Object].
func (s Slice) Key() Key { return Key{graph.ResourceSlice, "", s.Name} }

// Key implements [Object].
func (c Certificate) Key() Key { return Key{graph.PodCertificateRequest, c.Namespace, c.Name} }

// API implements [Object].
func (a Attachment) API() metav1.Object {
	attachment := &storagev1.VolumeAttachment{}
	attachment.Name, attachment.Spec.NodeName = a.Name, a.Node
	return attachment
}

// API implements [Object].
func (s Slice) API() metav1.Object {
	slice := &resourcev1.ResourceSlice{}
	slice.Name = s.Name
	if s.Node != "" {
		slice.Spec.NodeName = &s.Node
	}
	return slice
}

// API implements [Object].
func (c Certificate) API() metav1.Object {
	request := &certificatesv1.PodCertificateRequest{}
	request.Namespace, request.Name, request.Spec.NodeName = c.Namespace, c.Name, types.NodeName(c.Node)
	return request
}

// Simpler implements [Object]. There is no simpler object.
func (Attachment) Simpler() []Object { return nil }

// Simpler implements [Object]. There is no simpler object.
func (Slice) Simpler() []Object { return nil }

// Simpler implements [Object]. There is no simpler object.
func (Certificate) Simpler() []Object { return nil }
