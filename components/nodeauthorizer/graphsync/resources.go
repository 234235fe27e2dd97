// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"context"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// The resources that are watched, as metrics and RBAC name them.
const (
	Pods                   = "pods"
	PersistentVolumes      = "persistentvolumes"
	VolumeAttachments      = "volumeattachments"
	ResourceSlices         = "resourceslices"
	PodCertificateRequests = "podcertificaterequests"
)

// resource is one kind of source: where it is read from, and where it goes.
type resource struct {
	name string
	// optional is true for an API that a server may not have.
	optional bool
	example  runtime.Object
	source   *cache.ListWatch
	store    writer
}

// lister is what every typed client of a resource can do; L is its list type.
type lister[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// everything reads all objects of all namespaces, without any selector.
func everything[L runtime.Object](client lister[L]) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, options)
		},
		WatchFuncWithContext: client.Watch,
	}
}

// resourcesOf lists the resources that the options ask for.
func resourcesOf(client kubernetes.Interface, g *graph.Graph, options Options) []resource {
	all := []resource{
		{
			name: Pods, example: &corev1.Pod{}, source: everything(client.CoreV1().Pods(metav1.NamespaceAll)),
			store: typed[*corev1.Pod]{set: g.SetPod, remove: g.DeletePod, replace: g.ReplacePods, trim: graph.TrimPod},
		},
		{
			name: PersistentVolumes, example: &corev1.PersistentVolume{}, source: everything(client.CoreV1().PersistentVolumes()),
			store: typed[*corev1.PersistentVolume]{
				set: g.SetPersistentVolume, remove: unnamespaced(g.DeletePersistentVolume), replace: g.ReplacePersistentVolumes,
			},
		},
		{
			name: VolumeAttachments, example: &storagev1.VolumeAttachment{}, source: everything(client.StorageV1().VolumeAttachments()),
			store: typed[*storagev1.VolumeAttachment]{
				set: g.SetVolumeAttachment, remove: unnamespaced(g.DeleteVolumeAttachment), replace: g.ReplaceVolumeAttachments,
			},
		},
	}
	if !options.WithoutResourceSlices {
		all = append(all, resource{
			name: ResourceSlices, optional: true, example: &resourcev1.ResourceSlice{}, source: everything(client.ResourceV1().ResourceSlices()),
			store: typed[*resourcev1.ResourceSlice]{
				set: g.SetResourceSlice, remove: unnamespaced(g.DeleteResourceSlice), replace: g.ReplaceResourceSlices,
			},
		})
	}
	if !options.WithoutPodCertificateRequests {
		all = append(all, resource{
			name: PodCertificateRequests, optional: true, example: &certificatesv1.PodCertificateRequest{},
			source: everything(client.CertificatesV1().PodCertificateRequests(metav1.NamespaceAll)),
			store: typed[*certificatesv1.PodCertificateRequest]{
				set: g.SetPodCertificateRequest, remove: g.DeletePodCertificateRequest, replace: g.ReplacePodCertificateRequests,
			},
		})
	}
	return all
}

func unnamespaced(remove func(name string)) func(namespace, name string) {
	return func(_, name string) { remove(name) }
}
