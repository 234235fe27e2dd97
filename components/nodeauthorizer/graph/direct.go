// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// SetVolumeAttachment relates the attachment to its node.
func (g *Graph) SetVolumeAttachment(attachment *storagev1.VolumeAttachment) {
	g.attachments.Lock()
	defer g.attachments.Unlock()
	g.setAttachment(attachment)
}

// DeleteVolumeAttachment forgets the attachment.
func (g *Graph) DeleteVolumeAttachment(name string) {
	g.attachments.Lock()
	defer g.attachments.Unlock()
	g.unbind(VolumeAttachment, "", name)
}

// ReplaceVolumeAttachments makes the graph agree with the list.
func (g *Graph) ReplaceVolumeAttachments(attachments []*storagev1.VolumeAttachment) {
	g.attachments.Lock()
	defer g.attachments.Unlock()
	replace(g.known(VolumeAttachment), attachments, g.setAttachment, func(namespace, name string) {
		g.unbind(VolumeAttachment, namespace, name)
	})
}

func (g *Graph) setAttachment(attachment *storagev1.VolumeAttachment) {
	g.bind(VolumeAttachment, "", attachment.Name, attachment.Spec.NodeName)
}

// SetResourceSlice relates the slice to its node. A slice for all nodes, for a
// selector or per device is related to none.
func (g *Graph) SetResourceSlice(slice *resourcev1.ResourceSlice) {
	g.slices.Lock()
	defer g.slices.Unlock()
	g.setSlice(slice)
}

// DeleteResourceSlice forgets the slice.
func (g *Graph) DeleteResourceSlice(name string) {
	g.slices.Lock()
	defer g.slices.Unlock()
	g.unbind(ResourceSlice, "", name)
}

// ReplaceResourceSlices makes the graph agree with the list.
func (g *Graph) ReplaceResourceSlices(slices []*resourcev1.ResourceSlice) {
	g.slices.Lock()
	defer g.slices.Unlock()
	replace(g.known(ResourceSlice), slices, g.setSlice, func(namespace, name string) {
		g.unbind(ResourceSlice, namespace, name)
	})
}

func (g *Graph) setSlice(slice *resourcev1.ResourceSlice) {
	node := ""
	if slice.Spec.NodeName != nil {
		node = *slice.Spec.NodeName
	}
	g.bind(ResourceSlice, "", slice.Name, node)
}

// SetPodCertificateRequest relates the request to the node that it names, without
// a detour over the pod: NodeRestriction sees to it that node and pod agree.
func (g *Graph) SetPodCertificateRequest(request *certificatesv1.PodCertificateRequest) {
	g.requests.Lock()
	defer g.requests.Unlock()
	g.setRequest(request)
}

// DeletePodCertificateRequest forgets the request.
func (g *Graph) DeletePodCertificateRequest(namespace, name string) {
	g.requests.Lock()
	defer g.requests.Unlock()
	g.unbind(PodCertificateRequest, namespace, name)
}

// ReplacePodCertificateRequests makes the graph agree with the list.
func (g *Graph) ReplacePodCertificateRequests(requests []*certificatesv1.PodCertificateRequest) {
	g.requests.Lock()
	defer g.requests.Unlock()
	replace(g.known(PodCertificateRequest), requests, g.setRequest, func(namespace, name string) {
		g.unbind(PodCertificateRequest, namespace, name)
	})
}

func (g *Graph) setRequest(request *certificatesv1.PodCertificateRequest) {
	g.bind(PodCertificateRequest, request.Namespace, request.Name, string(request.Spec.NodeName))
}

// bind relates an object to one node and to no other.
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
	s.objects.hold(id)
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

// unbindDirect takes back a bind; the node is what the object itself says.
func (s *state) unbindDirect(id objectID) {
	node := s.objects.at(id).nodes.node
	s.unreach(id, node)
	s.edges--
	s.objects.release(id)
	s.nodes.release(node)
}
