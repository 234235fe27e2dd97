// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package clusterstatus reports the state of Bulkhead on all hosts and nodes of a cluster. It reads
// only from the API server, so it needs no access to a host. It changes nothing and prints nothing.
package clusterstatus

import (
	"slices"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
	"github.com/bulkhead-k8s/bulkhead/components/install/preflight"
)

// Report is the state of a cluster at one time. Strings from pods and hosts contain no control
// characters.
type Report struct {
	// Hosts are the control-plane hosts, by name.
	Hosts []Host `json:"hosts"`
	// KubeadmConfig is the state of the ConfigMap kubeadm-config.
	KubeadmConfig KubeadmConfig `json:"kubeadmConfig"`
	// Nodes are all nodes, by name.
	Nodes []Node `json:"nodes"`
	// Proxy is the DaemonSet of kubelet-auth-proxy. It is nil if the cluster has none.
	Proxy *Rollout `json:"proxy,omitempty"`
	// Findings are the results of the checks, the worst first.
	Findings []Finding `json:"findings"`

	// Areas are the findings by area, in the order of the checks. Problems reads it.
	Areas map[Area][]Finding `json:"-"`
}

// Area is what a group of findings is about.
type Area string

// The areas.
const (
	AreaHosts        Area = "hosts"
	AreaDrift        Area = "drift"
	AreaKubeadm      Area = "kubeadm"
	AreaKubelets     Area = "kubelets"
	AreaCertificates Area = "certificates"
)

// areas is the order of findings with the same level.
var areas = []Area{AreaHosts, AreaDrift, AreaKubeadm, AreaKubelets, AreaCertificates}

// Problems returns the findings of an area that are not OK.
func (r *Report) Problems(area Area) []Finding {
	return slices.DeleteFunc(slices.Clone(r.Areas[area]), func(f Finding) bool { return f.Level == preflight.OK })
}

// Rollout is the state of a DaemonSet, in numbers of pods.
type Rollout struct {
	Desired int32 `json:"desired"`
	Updated int32 `json:"updated"`
	Ready   int32 `json:"ready"`
	// Observed is false if the controller has not seen the last change of the DaemonSet.
	Observed bool `json:"observed"`
}

// Failed reports whether a finding has level FAIL.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Level == preflight.Fail })
}

// Finding is the result of one check.
type Finding struct {
	Level preflight.Level `json:"level"`
	// Where is a node name. It is empty if the finding is about the whole cluster.
	Where string `json:"where,omitempty"`
	Text  string `json:"text"`
	// Next is what to do. It is empty if the level is OK.
	Next string `json:"next,omitempty"`
}

// State says whether a control-plane host has Bulkhead.
type State string

// The states of a control-plane host.
const (
	// Installed means that the host has an entry in ConfigMap bulkhead-hosts.
	Installed State = "installed"
	// NotInstalled means that the host has no entry, and its kube-apiserver does not use Bulkhead.
	NotInstalled State = "not installed"
	// NotRecorded means that the host has no entry, but its kube-apiserver uses Bulkhead's files.
	NotRecorded State = "not recorded"
	// Unreadable means that the entry of the host cannot be read.
	Unreadable State = "unreadable entry"
)

// Host is the state of one control-plane host.
type Host struct {
	Node  string `json:"node"`
	State State  `json:"state"`
	// Entry is what the installer wrote. It is nil unless the host is Installed.
	Entry *hosts.Host `json:"entry,omitempty"`
	// Problem is why the entry cannot be read.
	Problem string `json:"problem,omitempty"`
	// APIServer is nil if the API has no mirror pod of kube-apiserver on this host.
	APIServer *APIServer `json:"apiServer,omitempty"`
	// Components are Bulkhead's static pods on this host.
	Components []Component `json:"components,omitempty"`
	// Certificates are Bulkhead's certificates on this host. They are absent if they are left out
	// or unknown.
	Certificates []Certificate `json:"certificates,omitempty"`
	// CertificatesUnknown is why the certificates are not known.
	CertificatesUnknown string `json:"certificatesUnknown,omitempty"`
}

// APIServer is the kube-apiserver of a host, as its mirror pod describes it.
type APIServer struct {
	Image string `json:"image"`
	// NotReady is the reason why the pod is not ready. It is empty if the pod is ready.
	NotReady string   `json:"notReady,omitempty"`
	Restarts Restarts `json:"restarts,omitzero"`
	// These are the values of the flags with the same names. They are empty if a flag is not set.
	AuthorizationConfig          string `json:"authorizationConfig,omitempty"`
	AdmissionControlConfigFile   string `json:"admissionControlConfigFile,omitempty"`
	KubeletCertificateAuthority  string `json:"kubeletCertificateAuthority,omitempty"`
	AuthorizationConfigSHA256    string `json:"authorizationConfigSHA256,omitempty"`
	AdmissionControlConfigSHA256 string `json:"admissionControlConfigSHA256,omitempty"`
}

// Component is one static pod of Bulkhead.
type Component struct {
	Name  string `json:"name"`
	Image string `json:"image"`
	// NotReady is the reason why the pod is not ready. It is empty if the pod is ready.
	NotReady string   `json:"notReady,omitempty"`
	Restarts Restarts `json:"restarts,omitzero"`
}

// Restarts are the restarts of a container by the kubelet.
type Restarts struct {
	Count int32 `json:"count"`
	// Last is the end of the last container that was replaced. It is zero if the kubelet does not know it.
	Last time.Time `json:"last,omitzero"`
}

// Certificate is one certificate of Bulkhead on a host.
type Certificate struct {
	Name string `json:"name"`
	// NotAfter is zero if the certificate does not exist or cannot be read.
	NotAfter time.Time `json:"notAfter,omitzero"`
	// Due says why the certificate must be renewed now. It is empty if it need not be.
	Due string `json:"due,omitempty"`
}

// KubeadmConfig is the state of the ConfigMap kubeadm-config.
type KubeadmConfig string

// The states of the ConfigMap.
const (
	// KubeadmWired means that kubeadm writes kube-apiservers that use Bulkhead.
	KubeadmWired KubeadmConfig = "wired"
	// KubeadmPartlyWired means that they use Bulkhead's authorizers, or its admission, and not both.
	KubeadmPartlyWired KubeadmConfig = "partly wired"
	// KubeadmNotWired means that it writes kube-apiservers without Bulkhead.
	KubeadmNotWired KubeadmConfig = "not wired"
	// KubeadmAbsent means that the cluster has no such ConfigMap.
	KubeadmAbsent KubeadmConfig = "absent"
)

// Guard says whether kubelet-auth-proxy protects the kubelet of a node.
type Guard string

// The states of a node.
const (
	Guarded    Guard = "guarded"
	NotGuarded Guard = "not guarded"
	// LeftOut means that the DaemonSet does not select the node, for example a Windows node.
	LeftOut Guard = "left out"
	Unknown Guard = "unknown"
)

// Node is the state of one node.
type Node struct {
	Name  string `json:"name"`
	Guard Guard  `json:"guard"`
	// Reason is why the state is unknown.
	Reason string `json:"reason,omitempty"`
	// Ready is true if the Node has the condition Ready.
	Ready bool `json:"-"`
}
