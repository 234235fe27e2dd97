// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// Object is a short form of an API object, with only the fields that the comparison needs.
type Object interface {
	// Key returns the object's identity.
	Key() Key
	// API returns the object as a client reads it. Each call creates a new one.
	API() metav1.Object
	// Simpler returns objects with the same identity and fewer details.
	Simpler() []Object
}

// Key identifies an object. Its namespace is "" for a cluster-scoped object.
type Key struct {
	Kind            graph.Kind
	Namespace, Name string
}

// Kinds returns the kinds of objects in a cluster. Objects of other kinds are only named by these.
func Kinds() []graph.Kind {
	return []graph.Kind{
		graph.Pod, graph.PersistentVolume, graph.VolumeAttachment, graph.ResourceSlice, graph.PodCertificateRequest,
	}
}
