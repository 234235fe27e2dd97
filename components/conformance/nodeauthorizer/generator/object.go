// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// Object is an object of the API, told in as few words as the comparison needs.
type Object interface {
	// Key is the object's identity.
	Key() Key
	// API makes the object as a client reads it, a new one at each call.
	API() metav1.Object
	// Simpler lists objects of the same identity that say a little less.
	Simpler() []Object
}

// Key identifies an object. Objects without a namespace have an empty one.
type Key struct {
	Kind            graph.Kind
	Namespace, Name string
}

// Kinds are the kinds of objects that a cluster consists of. All others are only
// named in it.
func Kinds() []graph.Kind {
	return []graph.Kind{
		graph.Pod, graph.PersistentVolume, graph.VolumeAttachment, graph.ResourceSlice, graph.PodCertificateRequest,
	}
}
