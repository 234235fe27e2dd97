// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
)

// SetVolumeAttachment relates the attachment to its node.
func (g *Graph) SetVolumeAttachment(attachment *storagev1.VolumeAttachment) {
	g.setDirect(VolumeAttachment, attachment, attachment.Spec.NodeName)
}

// DeleteVolumeAttachment deletes the attachment from the graph.
func (g *Graph) DeleteVolumeAttachment(name string) { g.deleteDirect(VolumeAttachment, "", name) }

// SetResourceSlice relates the slice to its node. A slice for all nodes, for a node selector or for
// single devices is not related to any node.
func (g *Graph) SetResourceSlice(slice *resourcev1.ResourceSlice) {
	g.setDirect(ResourceSlice, slice, ptr.Deref(slice.Spec.NodeName, ""))
}

// DeleteResourceSlice deletes the slice from the graph.
func (g *Graph) DeleteResourceSlice(name string) { g.deleteDirect(ResourceSlice, "", name) }

// SetPodCertificateRequest relates the request to the node in its spec, not to the node of the pod.
// NodeRestriction checks that the two agree.
func (g *Graph) SetPodCertificateRequest(request *certificatesv1.PodCertificateRequest) {
	g.setDirect(PodCertificateRequest, request, string(request.Spec.NodeName))
}

// DeletePodCertificateRequest deletes the request from the graph.
func (g *Graph) DeletePodCertificateRequest(namespace, name string) {
	g.deleteDirect(PodCertificateRequest, namespace, name)
}

// SetCertificateSigningRequest relates the request to the node that created it. The API server
// writes the user into the request, and no client can change it. A request by any other user, such
// as a bootstrapping kubelet, is not related to a node.
func (g *Graph) SetCertificateSigningRequest(request *certificatesv1.CertificateSigningRequest) {
	node, ok := strings.CutPrefix(request.Spec.Username, nodeidentity.Prefix)
	if !ok {
		node = ""
	}
	g.setDirect(CertificateSigningRequest, request, node)
}

// DeleteCertificateSigningRequest deletes the request from the graph.
func (g *Graph) DeleteCertificateSigningRequest(name string) {
	g.deleteDirect(CertificateSigningRequest, "", name)
}

func (g *Graph) setDirect(kind Kind, object metav1.Object, node string) {
	g.direct[kind].Lock()
	defer g.direct[kind].Unlock()
	g.bind(kind, object.GetNamespace(), object.GetName(), node)
}

func (g *Graph) deleteDirect(kind Kind, namespace, name string) {
	g.direct[kind].Lock()
	defer g.direct[kind].Unlock()
	g.unbind(kind, namespace, name)
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
