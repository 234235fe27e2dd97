// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package configuration parses the policy that an operator sets for what nodes write about
// themselves. The policy is the Configuration in noderestriction.admission.k8s.io/v1 of the design
// proposal Limiting Node Scope on the Node object (kubernetes/design-proposals-archive
// node/limit-node-object-self-control.md). The proposal has two fields. Bulkhead adds others.
//
// The package parses bytes. It does not read files. docs/configuration.md shows every field.
package configuration

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
)

// Configuration is a valid policy. Callers must not change it, so it is safe for concurrent use.
type Configuration struct {
	// AllowedLabels and AllowedTaints are the keys that a node may set, change and remove on its
	// Node, in addition to those that the kubelet sets by itself. If a field is absent, its value
	// is nil and upstream's fixed policy applies.
	AllowedLabels, AllowedTaints *Keys
	// ChangeableLabels are the keys of labels that a node may change and remove once its Node has
	// them. Nil means none.
	ChangeableLabels *Keys
	// ChangeableTaints are the keys of taints that a node may add, change and remove once its Node
	// exists. Nil means none, as upstream.
	ChangeableTaints *Keys
	// StickyTaints are the keys of taints that remain in force after the Node is deleted.
	StickyTaints *Keys
	// Machines is the machine table. It says which labels, taints and addresses a Node must or may
	// have.
	Machines []Machine
	// MirrorPods are the restrictions of KEP-1314.
	MirrorPods MirrorPods
	// Annotations are the keys that a node may set, change and remove on its Node, in addition to
	// those that a kubelet sets. Nil means no additional keys.
	Annotations *Keys
	// Caps limit how many objects one node may create.
	Caps Caps
	// MaxTokenSeconds is the longest lifetime, in seconds, of a token that a node requests. 0 means
	// no limit.
	MaxTokenSeconds int64
	// BootstrapNames are the node names that bootstrap users may request certificates for. Nil,
	// where the field is absent, allows all names. An empty list allows none.
	BootstrapNames []BootstrapNames
}

// BootstrapNames are the node names that one bootstrap user or group may use.
type BootstrapNames struct {
	// User is a user name. Group is a group name. One of the two is empty.
	User, Group string
	// Names are node names and prefixes of node names.
	Names *Keys
}

// Machine is a row of the machine table.
type Machine struct {
	// Name is a node name, or a prefix of node names followed by "*".
	Name   string
	Labels map[string]string
	Taints []corev1.Taint
	// Addresses are the IPs that the node may report. Nil, where the field is absent, allows all
	// IPs. An empty list allows none.
	Addresses []netip.Prefix
}

// Gate is the mode of KEP-1314's feature gate MirrorPodNodeRestriction.
type Gate int

// The modes of the gate. Off skips the checks.
const (
	Off Gate = iota
	// Warn admits the write, warns the caller and annotates the audit event.
	Warn
	// Enforce denies the write.
	Enforce
)

// MirrorPods restricts the metadata of mirror pods.
type MirrorPods struct {
	Gate Gate
	// RequireNamespace allows mirror pods only in namespaces that have the annotation
	// node.kubernetes.io/mirror.allowed.
	RequireNamespace bool
	// UnrestrictedPrefix allows all label keys that begin with unrestricted.node.kubernetes.io/.
	UnrestrictedPrefix bool
	// AllowedLabelKeys are allowed in every namespace.
	AllowedLabelKeys *Keys
	// DeniedLabelKeys are denied even if the namespace lists them, or AllowedLabelKeys has them.
	DeniedLabelKeys *Keys
	// AllowedAnnotations are keys in addition to those that KEP-1314 lists by name.
	AllowedAnnotations *Keys
}

// Caps limit how many objects of a kind one node may have created. 0 means no limit.
type Caps struct {
	MirrorPods                 int `json:"mirrorPods"`
	ResourceSlices             int `json:"resourceSlices"`
	PodCertificateRequests     int `json:"podCertificateRequests"`
	CertificateSigningRequests int `json:"certificateSigningRequests"`
}

// Defaults returns the policy of a file that has only apiVersion and kind.
func Defaults() *Configuration {
	return &Configuration{
		MirrorPods: MirrorPods{DeniedLabelKeys: NewKeys("k8s-app")},
		Caps:       DefaultCaps(),
	}
}

// DefaultCaps returns several times what a normal node needs. A kubelet runs at most 110 pods by
// default, and has only a few open requests at a time.
func DefaultCaps() Caps {
	return Caps{MirrorPods: 250, ResourceSlices: 1000, PodCertificateRequests: 2000, CertificateSigningRequests: 100}
}
