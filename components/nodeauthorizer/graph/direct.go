// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
)

// SetVolumeAttachment relates the attachment to its node.
func (g *Graph) SetVolumeAttachment(attachment *storagev1.VolumeAttachment) {
	setDirect(g, VolumeAttachment, attachment, nodeOfAttachment)
}

// DeleteVolumeAttachment deletes the attachment from the graph.
func (g *Graph) DeleteVolumeAttachment(name string) { g.deleteDirect(VolumeAttachment, "", name) }

// ReplaceVolumeAttachments makes the graph agree with the list.
func (g *Graph) ReplaceVolumeAttachments(attachments []*storagev1.VolumeAttachment) {
	replaceDirect(g, VolumeAttachment, attachments, nodeOfAttachment)
}

func nodeOfAttachment(attachment *storagev1.VolumeAttachment) string { return attachment.Spec.NodeName }

// SetResourceSlice relates the slice to its node. A slice for all nodes, for a node selector or for
// single devices is not related to any node.
func (g *Graph) SetResourceSlice(slice *resourcev1.ResourceSlice) {
	setDirect(g, ResourceSlice, slice, nodeOfSlice)
}

// DeleteResourceSlice deletes the slice from the graph.
func (g *Graph) DeleteResourceSlice(name string) { g.deleteDirect(ResourceSlice, "", name) }

// ReplaceResourceSlices makes the graph agree with the list.
func (g *Graph) ReplaceResourceSlices(slices []*resourcev1.ResourceSlice) {
	replaceDirect(g, ResourceSlice, slices, nodeOfSlice)
}

func nodeOfSlice(slice *resourcev1.ResourceSlice) string {
	if slice.Spec.NodeName == nil {
		return ""
	}
	return *slice.Spec.NodeName
}

// SetPodCertificateRequest relates the request to the node in its spec, not to the node of the pod.
// NodeRestriction checks that the two agree.
func (g *Graph) SetPodCertificateRequest(request *certificatesv1.PodCertificateRequest) {
	setDirect(g, PodCertificateRequest, request, nodeOfPodCertificate)
}

// DeletePodCertificateRequest deletes the request from the graph.
func (g *Graph) DeletePodCertificateRequest(namespace, name string) {
	g.deleteDirect(PodCertificateRequest, namespace, name)
}

// ReplacePodCertificateRequests makes the graph agree with the list.
func (g *Graph) ReplacePodCertificateRequests(requests []*certificatesv1.PodCertificateRequest) {
	replaceDirect(g, PodCertificateRequest, requests, nodeOfPodCertificate)
}

func nodeOfPodCertificate(request *certificatesv1.PodCertificateRequest) string {
	return string(request.Spec.NodeName)
}

// SetCertificateSigningRequest relates the request to the node that created it. The API server
// writes the user into the request, and no client can change it. A request by any other user, such
// as a bootstrapping kubelet, is not related to a node.
func (g *Graph) SetCertificateSigningRequest(request *certificatesv1.CertificateSigningRequest) {
	setDirect(g, CertificateSigningRequest, request, nodeOfSigningRequest)
}

// DeleteCertificateSigningRequest deletes the request from the graph.
func (g *Graph) DeleteCertificateSigningRequest(name string) {
	g.deleteDirect(CertificateSigningRequest, "", name)
}

// ReplaceCertificateSigningRequests makes the graph agree with the list.
func (g *Graph) ReplaceCertificateSigningRequests(requests []*certificatesv1.CertificateSigningRequest) {
	replaceDirect(g, CertificateSigningRequest, requests, nodeOfSigningRequest)
}

func nodeOfSigningRequest(request *certificatesv1.CertificateSigningRequest) string {
	node, ok := strings.CutPrefix(request.Spec.Username, nodeidentity.Prefix)
	if !ok {
		return ""
	}
	return node
}

func setDirect[T metav1.Object](g *Graph, kind Kind, object T, nodeOf func(T) string) {
	g.direct[kind].Lock()
	defer g.direct[kind].Unlock()
	g.bind(kind, object.GetNamespace(), object.GetName(), nodeOf(object))
}

func (g *Graph) deleteDirect(kind Kind, namespace, name string) {
	g.direct[kind].Lock()
	defer g.direct[kind].Unlock()
	g.unbind(kind, namespace, name)
}

func replaceDirect[T metav1.Object](g *Graph, kind Kind, list []T, nodeOf func(T) string) {
	g.direct[kind].Lock()
	defer g.direct[kind].Unlock()
	replace(g.known(kind), list,
		func(object T) { g.bind(kind, object.GetNamespace(), object.GetName(), nodeOf(object)) },
		func(namespace, name string) { g.unbind(kind, namespace, name) })
}

// bind relates an object to exactly one node.
func (g *Graph) bind(kind Kind, namespace, name, node string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := &g.state
	if id := s.objects.find(kind, namespace, name); id != 0 {
		number, ok := s.nodes.find(node)
		if ok && s.objects.at(id).nodes.has(number) {
			return
		}
		s.unbindDirect(id)
	}
	if node == "" {
		return
	}
	id := s.objects.internNamed(kind, identity{namespace, name})
	s.objects.retain(id)
	s.reach(id, s.nodes.acquire(node))
	s.edges++
}

func (g *Graph) unbind(kind Kind, namespace, name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if id := g.state.objects.find(kind, namespace, name); id != 0 {
		g.state.unbindDirect(id)
	}
}

// unbindDirect reverts bind. The object itself contains the node.
func (s *state) unbindDirect(id objectID) {
	node := s.objects.at(id).nodes.node
	s.unreach(id, node)
	s.edges--
	s.objects.release(id)
	s.nodes.release(node)
}
