// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/nodeauthorizer/generator"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// newBulkhead returns node-authorizer with all optional rules off, in both modes, with upstream's
// current feature gates.
func newBulkhead(g *graph.Graph) (compat, strict *nodeauthorizer.Authorizer) {
	config := nodeauthorizer.Config{
		Features:  nodeauthorizer.DefaultFeatures(),
		Relations: g,
		Unready:   func() string { return "" },
	}
	for gate, feature := range config.Features.ByGate() {
		*feature = utilfeature.DefaultFeatureGate.Enabled(featuregate.Feature(gate))
	}
	compat = nodeauthorizer.New(config)
	config.Mode = nodeauthorizer.Strict
	return compat, nodeauthorizer.New(config)
}

func setBulkhead(g *graph.Graph, object metav1.Object) {
	switch o := object.(type) {
	case *corev1.Pod:
		g.SetPod(o)
	case *corev1.PersistentVolume:
		g.SetPersistentVolume(o)
	case *storagev1.VolumeAttachment:
		g.SetVolumeAttachment(o)
	case *resourcev1.ResourceSlice:
		g.SetResourceSlice(o)
	case *certificatesv1.PodCertificateRequest:
		g.SetPodCertificateRequest(o)
	}
}

func deleteBulkhead(g *graph.Graph, key generator.Key) {
	switch key.Kind {
	case graph.Pod:
		g.DeletePod(key.Namespace, key.Name)
	case graph.PersistentVolume:
		g.DeletePersistentVolume(key.Name)
	case graph.VolumeAttachment:
		g.DeleteVolumeAttachment(key.Name)
	case graph.ResourceSlice:
		g.DeleteResourceSlice(key.Name)
	case graph.PodCertificateRequest:
		g.DeletePodCertificateRequest(key.Namespace, key.Name)
	}
}

func replaceBulkhead(g *graph.Graph, kind graph.Kind, objects []generator.Object) {
	keep := map[types.NamespacedName]struct{}{}
	for _, object := range objects {
		one := object.API()
		setBulkhead(g, one)
		keep[types.NamespacedName{Namespace: one.GetNamespace(), Name: one.GetName()}] = struct{}{}
	}
	g.Retain(kind, keep)
}
