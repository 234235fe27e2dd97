// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/kubernetes/pkg/auth/nodeidentifier"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/node"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Side is an authorizer with the graph that it decides from.
type Side interface {
	Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error)
	SetNode(*corev1.Node)
	SetPod(*corev1.Pod)
	DeletePod(namespace, name string)
	SetPersistentVolume(*corev1.PersistentVolume)
	SetVolumeAttachment(*storagev1.VolumeAttachment)
	SetResourceSlice(*resourcev1.ResourceSlice)
	SetPodCertificateRequest(*certificatesv1.PodCertificateRequest)
	SetCertificateSigningRequest(*certificatesv1.CertificateSigningRequest)
}

// ours writes to the graph by the graph's own methods.
type ours struct {
	*graph.Graph
	*nodeauthorizer.Authorizer
}

// NewParity is the node authorizer as the parity profile has it: it decides as
// the in-tree one does. Nothing is read live.
func NewParity() Side {
	g := graph.New(graph.Options{})
	return ours{g, nodeauthorizer.New(nodeauthorizer.Config{
		Mode: nodeauthorizer.Compat, Features: nodeauthorizer.DefaultFeatures(), Relations: g, Unready: ready,
	})}
}

// NewHardened is the node authorizer as the hardened profile has it: optional rules are
// enforced, but for those that the profile only audits. Nothing is read live.
func NewHardened() Side {
	g, z := newHardened()
	return ours{g, z}
}

func newHardened() (*graph.Graph, *nodeauthorizer.Authorizer) {
	modes := nodeauthorizer.Modes(rules.Enforce)
	g := graph.New(graph.Options{Ended: rules.Enforce, Unusable: rules.Enforce, Unowned: rules.Enforce})
	return g, nodeauthorizer.New(nodeauthorizer.Config{
		Mode: nodeauthorizer.Strict, Features: nodeauthorizer.DefaultFeatures(), Relations: g, Unready: ready, Modes: modes,
	})
}

func ready() string { return "" }

// inTree writes to the graph as upstream's graph populator does.
type inTree struct {
	*node.NodeAuthorizer
	graph *node.Graph
}

// NewInTree is upstream's authorizer, as kube-apiserver makes it.
func NewInTree() Side {
	g := node.NewGraph()
	return inTree{node.NewAuthorizer(g, nodeidentifier.NewDefaultNodeIdentifier(), bootstrappolicy.NodeRules()), g}
}

func (t inTree) SetPod(pod *corev1.Pod)           { t.graph.AddPod(pod) }
func (t inTree) DeletePod(namespace, name string) { t.graph.DeletePod(name, namespace) }
func (t inTree) SetPersistentVolume(volume *corev1.PersistentVolume) {
	t.graph.AddPV(volume)
}

func (t inTree) SetVolumeAttachment(attachment *storagev1.VolumeAttachment) {
	t.graph.AddVolumeAttachment(attachment.Name, attachment.Spec.NodeName)
}

func (t inTree) SetResourceSlice(slice *resourcev1.ResourceSlice) {
	t.graph.AddResourceSlice(slice.Name, *slice.Spec.NodeName)
}

func (t inTree) SetPodCertificateRequest(request *certificatesv1.PodCertificateRequest) {
	t.graph.AddPodCertificateRequest(request)
}

// The in-tree authorizer knows neither Node objects nor signing requests.
func (inTree) SetNode(*corev1.Node)                                                   {}
func (inTree) SetCertificateSigningRequest(*certificatesv1.CertificateSigningRequest) {}

// Populate sets everything, one object after the other, pods first as upstream's
// benchmark does.
func Populate(side Side, w *World) {
	for _, pod := range w.Pods {
		side.SetPod(pod)
	}
	for _, volume := range w.Volumes {
		side.SetPersistentVolume(volume)
	}
	for _, attachment := range w.Attachments {
		side.SetVolumeAttachment(attachment)
	}
	for _, slice := range w.Slices {
		side.SetResourceSlice(slice)
	}
	for _, request := range w.Certificates {
		side.SetPodCertificateRequest(request)
	}
	for _, request := range w.Signing {
		side.SetCertificateSigningRequest(request)
	}
	for _, node := range w.Nodes {
		side.SetNode(node)
	}
}

// trio is one world on each side.
type trio struct{ parity, hardened, inTree Side }

func newTrio(w *World) trio {
	t := trio{NewParity(), NewHardened(), NewInTree()}
	for _, side := range t.all() {
		Populate(side, w)
	}
	return t
}

// all lists the sides in the order of their results: parity, hardened, in-tree.
func (t trio) all() [3]Side { return [3]Side{t.parity, t.hardened, t.inTree} }
