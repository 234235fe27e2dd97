// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/bulkhead-k8s/bulkhead/components/internal/reflector"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graphsync/lean"
)

// The watched resources, as metrics and RBAC name them.
const (
	Pods                   = "pods"
	PersistentVolumes      = "persistentvolumes"
	VolumeAttachments      = "volumeattachments"
	ResourceSlices         = "resourceslices"
	PodCertificateRequests = "podcertificaterequests"

	Nodes                      = "nodes"
	CertificateSigningRequests = "certificatesigningrequests"
	PersistentVolumeClaims     = "persistentvolumeclaims"
)

// resource is one watched resource: its source and its destination.
type resource struct {
	name string
	// optional is true for an API that a server may not serve.
	optional bool
	example  runtime.Object
	source   *cache.ListWatch
	into     writer
}

// resourcesOf lists the resources that the options select.
func resourcesOf(client kubernetes.Interface, g *graph.Graph, ended *endings, options Options) []resource {
	all := []resource{podsOf(client, g, ended, options.Scopes), volumesOf(client, g), attachmentsOf(client, g)}
	if !options.WithoutResourceSlices {
		all = append(all, slicesOf(client, g))
	}
	if !options.WithoutPodCertificateRequests {
		all = append(all, requestsOf(client, g))
	}
	if options.Nodes {
		all = append(all, nodesOf(client, g))
	}
	if options.CertificateSigningRequests {
		all = append(all, signingRequestsOf(client, g))
	}
	if options.PersistentVolumeClaims {
		all = append(all, claimsOf(client, g))
	}
	return all
}

// podsOf also passes every pod, from any source, to endings, which checks whether it has ended.
func podsOf(client kubernetes.Interface, g *graph.Graph, ended *endings, scopes PodScopes) resource {
	into := typed[*corev1.Pod]{
		set: func(pod *corev1.Pod) {
			g.SetPod(pod)
			ended.note(pod)
		},
		remove: g.DeletePod, retain: retaining(g, graph.Pod),
	}
	if scopes != nil {
		into = withScopes(into, scopes)
	}
	return resource{
		name: Pods, example: &corev1.Pod{}, into: into,
		source: reflector.Everything(coreOf(client, lean.Pods).Pods(metav1.NamespaceAll)),
	}
}

func volumesOf(client kubernetes.Interface, g *graph.Graph) resource {
	return resource{
		name: PersistentVolumes, example: &corev1.PersistentVolume{},
		source: reflector.Everything(coreOf(client, lean.PersistentVolumes).PersistentVolumes()),
		into: typed[*corev1.PersistentVolume]{
			set: g.SetPersistentVolume, remove: unnamespaced(g.DeletePersistentVolume),
			retain: retaining(g, graph.PersistentVolume),
		},
	}
}

func attachmentsOf(client kubernetes.Interface, g *graph.Graph) resource {
	return resource{
		name: VolumeAttachments, example: &storagev1.VolumeAttachment{},
		source: reflector.Everything(storageOf(client, lean.VolumeAttachments).VolumeAttachments()),
		into: typed[*storagev1.VolumeAttachment]{
			set: g.SetVolumeAttachment, remove: unnamespaced(g.DeleteVolumeAttachment),
			retain: retaining(g, graph.VolumeAttachment),
		},
	}
}

func slicesOf(client kubernetes.Interface, g *graph.Graph) resource {
	return resource{
		name: ResourceSlices, optional: true, example: &resourcev1.ResourceSlice{},
		source: reflector.Everything(devicesOf(client, lean.ResourceSlices).ResourceSlices()),
		into: typed[*resourcev1.ResourceSlice]{
			set: g.SetResourceSlice, remove: unnamespaced(g.DeleteResourceSlice),
			retain: retaining(g, graph.ResourceSlice),
		},
	}
}

func requestsOf(client kubernetes.Interface, g *graph.Graph) resource {
	return resource{
		name: PodCertificateRequests, optional: true, example: &certificatesv1.PodCertificateRequest{},
		source: reflector.Everything(
			certificatesOf(client, lean.PodCertificateRequests).PodCertificateRequests(metav1.NamespaceAll)),
		into: typed[*certificatesv1.PodCertificateRequest]{
			set: g.SetPodCertificateRequest, remove: g.DeletePodCertificateRequest,
			retain: retaining(g, graph.PodCertificateRequest),
		},
	}
}

func unnamespaced(remove func(name string)) func(namespace, name string) {
	return func(_, name string) { remove(name) }
}

func retaining(g *graph.Graph, kind graph.Kind) func(keep map[types.NamespacedName]struct{}) {
	return func(keep map[types.NamespacedName]struct{}) { g.Retain(kind, keep) }
}

// Each of the resources below is used by one optional rule.

func nodesOf(client kubernetes.Interface, g *graph.Graph) resource {
	return resource{
		name: Nodes, example: &corev1.Node{}, source: reflector.Everything(coreOf(client, lean.Nodes).Nodes()),
		into: typed[*corev1.Node]{
			set: g.SetNode, remove: unnamespaced(g.DeleteNode), retain: g.RetainNodes,
		},
	}
}

func signingRequestsOf(client kubernetes.Interface, g *graph.Graph) resource {
	return resource{
		name: CertificateSigningRequests, example: &certificatesv1.CertificateSigningRequest{},
		source: reflector.Everything(certificatesOf(client, lean.CertificateSigningRequests).CertificateSigningRequests()),
		into: typed[*certificatesv1.CertificateSigningRequest]{
			set: g.SetCertificateSigningRequest, remove: unnamespaced(g.DeleteCertificateSigningRequest),
			retain: retaining(g, graph.CertificateSigningRequest),
		},
	}
}

func claimsOf(client kubernetes.Interface, g *graph.Graph) resource {
	return resource{
		name: PersistentVolumeClaims, example: &corev1.PersistentVolumeClaim{},
		source: reflector.Everything(
			coreOf(client, lean.PersistentVolumeClaims).PersistentVolumeClaims(metav1.NamespaceAll)),
		into: typed[*corev1.PersistentVolumeClaim]{
			set: g.SetPersistentVolumeClaim, remove: g.DeletePersistentVolumeClaim,
			retain: retaining(g, graph.PersistentVolumeClaim),
		},
	}
}
