// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package configuration is the policy that an operator sets for what nodes write
// about themselves: the Configuration of the design proposal Limiting Node Scope on the Node
// object (kubernetes/design-proposals-archive node/limit-node-object-self-control.md),
// which is noderestriction.admission.k8s.io/v1, with fields of ours beside its two.
//
// It reads bytes; it knows no files. docs/configuration.md shows every field.
package configuration

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
)

// Configuration is a policy that was read and found good. It must not be changed.
type Configuration struct {
	// AllowedLabels and AllowedTaints are the keys that a node may set, change and
	// remove on itself, besides those that the kubelet applies by itself. Nil, where
	// the field is absent, leaves upstream's fixed policy as it is.
	AllowedLabels, AllowedTaints *Keys
	// ChangeableLabels are the keys of the labels that a node may change and remove after
	// its Node has them. Nil stands for none.
	ChangeableLabels *Keys
	// StickyTaints are the keys of taints that survive the Node object.
	StickyTaints *Keys
	// Machines say which labels and taints a new Node has to have.
	Machines []Machine
	// MirrorPods are the bounds of KEP-1314.
	MirrorPods MirrorPods
	// Annotations are the keys that a node may set, change and remove on its own
	// Node. Nil stands for the ones that a kubelet sets.
	Annotations *Keys
	// Caps bound what one node may make.
	Caps Caps
	// MaxTokenSeconds bounds the life of a token that a node asks for; 0 does not.
	MaxTokenSeconds int64
	// BootstrapNames say which node names bootstrappers may request certificates for. Nil,
	// where the field is absent, allows all; an empty list allows none.
	BootstrapNames []BootstrapNames
}

// BootstrapNames are the node names of one bootstrap user or group.
type BootstrapNames struct {
	// User is a user name, Group a group. One of the two is empty.
	User, Group string
	// Names are node names, and beginnings of them.
	Names *Keys
}

// Machine is a row of the machine table.
type Machine struct {
	// Name is a node name, or the beginning of one and a *.
	Name   string
	Labels map[string]string
	Taints []corev1.Taint
	// Addresses are the IPs that the node may report. Nil, where the field is absent, has no
	// say; an empty list allows none.
	Addresses []netip.Prefix
}

// Gate is the KEP's feature gate MirrorPodNodeRestriction.
type Gate int

// What the gate may be.
const (
	Off Gate = iota
	// Warn admits, warns the caller, and annotates the audit event.
	Warn
	// Enforce refuses.
	Enforce
)

// MirrorPods bound the metadata of mirror pods.
type MirrorPods struct {
	Gate Gate
	// RequireNamespace has only namespaces with the annotation
	// node.kubernetes.io/mirror.allowed take mirror pods.
	RequireNamespace bool
	// UnrestrictedPrefix allows all label keys below unrestricted.node.kubernetes.io/.
	UnrestrictedPrefix bool
	// DeniedLabelKeys are refused whatever a namespace lists.
	DeniedLabelKeys []string
	// AllowedAnnotations are keys beside those that the KEP lists by name.
	AllowedAnnotations *Keys
}

// Caps bound how many objects one node may have made. 0 is no bound.
type Caps struct {
	MirrorPods, ResourceSlices, PodCertificateRequests, CertificateSigningRequests int
}

// Defaults are what a file says that has no field but apiVersion and kind.
func Defaults() *Configuration {
	return &Configuration{
		MirrorPods: MirrorPods{DeniedLabelKeys: []string{"k8s-app"}},
		Caps:       DefaultCaps(),
	}
}

// DefaultCaps are several times what an honest node needs: 110 pods are the
// kubelet's own bound, and of its requests only a few are ever open.
func DefaultCaps() Caps {
	return Caps{MirrorPods: 250, ResourceSlices: 1000, PodCertificateRequests: 2000, CertificateSigningRequests: 100}
}
