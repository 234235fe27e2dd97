// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package host describes a kubeadm host to all installers: the paths of its files, its node name,
// and the certificates and identities of the components on it.
package host

import (
	"path/filepath"
)

// DefaultStateDir is the path under which the files in manifests/ know each
// other.
const DefaultStateDir = "/etc/kubernetes/bulkhead"

// ComponentGID is the group of our processes, which read their files and cannot
// change them.
const ComponentGID = 65532

// Layout says where things are on the host.
type Layout struct {
	// Manifests is the kubelet's directory of static pods.
	Manifests string
	// State holds everything that is ours.
	State string
	// KubePKI is kubeadm's directory of certificates.
	KubePKI string
	// KubeletConf is the kubelet's kubeconfig, which knows this node's name.
	KubeletConf string
	// KubeletPKI is where a kubelet keeps its certificates unless --cert-dir says otherwise.
	KubeletPKI string
	// Units is systemd's directory for the units of this host.
	Units string
	// Lock is held while the host is being changed.
	Lock string
	// ComponentGID is the group that may read the components' files.
	ComponentGID int
}

// DefaultLayout is that of a host made by kubeadm.
func DefaultLayout() Layout {
	return Layout{
		Manifests:    "/etc/kubernetes/manifests",
		State:        DefaultStateDir,
		KubePKI:      "/etc/kubernetes/pki",
		KubeletConf:  "/etc/kubernetes/kubelet.conf",
		KubeletPKI:   "/var/lib/kubelet/pki",
		Units:        "/etc/systemd/system",
		Lock:         "/run/bulkhead.lock",
		ComponentGID: ComponentGID,
	}
}

// APIServerManifest is the static pod of kube-apiserver.
func (l Layout) APIServerManifest() string {
	return filepath.Join(l.Manifests, "kube-apiserver.yaml")
}

// NodeAuthorizerManifest is the static pod of the node authorizer.
func (l Layout) NodeAuthorizerManifest() string {
	return filepath.Join(l.Manifests, "bulkhead-node-authorizer.yaml")
}

// NodeRestrictionManifest is the static pod of node-restriction.
func (l Layout) NodeRestrictionManifest() string {
	return filepath.Join(l.Manifests, "bulkhead-node-restriction.yaml")
}

// CertsManifest is the static pod that renews our certificates.
func (l Layout) CertsManifest() string {
	return filepath.Join(l.Manifests, "bulkhead-certs.yaml")
}

// KubeletApproverManifest is the static pod that approves kubelets' serving
// certificates.
func (l Layout) KubeletApproverManifest() string {
	return filepath.Join(l.Manifests, "bulkhead-kubelet-approver.yaml")
}

// ScopeSyncManifest is the static pod that keeps the lists of accounts that are held to
// their nodes.
func (l Layout) ScopeSyncManifest() string {
	return filepath.Join(l.Manifests, "bulkhead-scope-sync.yaml")
}

// ourManifests are our static pods.
func (l Layout) ComponentManifests() []string {
	return []string{l.ScopeSyncManifest(), l.KubeletApproverManifest(), l.CertsManifest(), l.NodeRestrictionManifest(),
		l.NodeAuthorizerManifest()}
}

// ourDirs are the directories of this host's control plane. Those of `bulkhead node
// install` are not among them.
func (l Layout) ComponentDirs() []string {
	return []string{l.NodeAuthorizer(), l.NodeRestriction(), l.KubeletApprover(), l.ScopeSync(), l.APIServer(), l.PKI(),
		l.Records()}
}

// PKI is the directory of our certificate authority.
func (l Layout) PKI() string { return filepath.Join(l.State, "pki") }

// APIServer is the directory that kube-apiserver sees.
func (l Layout) APIServer() string { return filepath.Join(l.State, "apiserver") }

// NodeAuthorizer is the directory that the node authorizer sees.
func (l Layout) NodeAuthorizer() string { return filepath.Join(l.State, "node-authorizer") }

// NodeRestriction is the directory that node-restriction sees.
func (l Layout) NodeRestriction() string { return filepath.Join(l.State, "node-restriction") }

// KubeletApprover is the directory that the approver sees.
func (l Layout) KubeletApprover() string { return filepath.Join(l.State, "kubelet-approver") }

// ScopeSync is the directory with what scope-sync needs to reach the API server.
func (l Layout) ScopeSync() string { return filepath.Join(l.State, "scope-sync") }

// RestrictionPolicy is the operator's policy for what nodes write.
func (l Layout) RestrictionPolicy() string {
	return filepath.Join(l.NodeRestriction(), "configuration.yaml")
}

// AdmissionConfig is the file from which kube-apiserver learns of admission webhooks.
func (l Layout) AdmissionConfig() string { return filepath.Join(l.APIServer(), "admission.yaml") }

// StaticManifests is the directory with the webhooks that kube-apiserver has from
// disk.
func (l Layout) StaticManifests() string { return filepath.Join(l.APIServer(), "static") }

// StaticPolicies is the directory with the admission policies that kube-apiserver has
// from disk.
func (l Layout) StaticPolicies() string { return filepath.Join(l.APIServer(), "static-policies") }

// KubeletPolicy is the one about nodes/proxy.
func (l Layout) KubeletPolicy() string { return filepath.Join(l.StaticPolicies(), "kubelet-api.yaml") }

// Registration is what kube-apiserver is told of node-restriction.
func (l Layout) Registration() string {
	return filepath.Join(l.StaticManifests(), "node-restriction.yaml")
}

// ScopeRegistration is what kube-apiserver is told of node-restriction about accounts
// that are held to their nodes.
func (l Layout) ScopeRegistration() string {
	return filepath.Join(l.StaticManifests(), "node-scope.yaml")
}

// AuthorizationConfig is the file that names the authorizers of kube-apiserver.
func (l Layout) AuthorizationConfig() string {
	return filepath.Join(l.APIServer(), "authorization.yaml")
}

func (l Layout) Records() string          { return filepath.Join(l.State, "state") }
func (l Layout) Journal() string          { return filepath.Join(l.Records(), "journal") }
func (l Layout) Record() string           { return filepath.Join(l.Records(), "record.json") }
func (l Layout) OriginalManifest() string { return filepath.Join(l.Records(), "kube-apiserver.yaml") }
func (l Layout) OriginalKubeadm() string {
	return filepath.Join(l.Records(), "kubeadm-cluster-configuration.yaml")
}

// Node is the directory with what belongs to this host as a node: the certificate that the
// kubelet accepts, its configuration, and the record. No pod sees it.
func (l Layout) Node() string { return filepath.Join(l.State, "node") }

// KubeletProxy is the directory that kubelet-auth-proxy sees. Without it the proxy's
// pod does not start: so it waits for the kubelet to leave the port.
func (l Layout) KubeletProxy() string { return filepath.Join(l.State, "kubelet-auth-proxy") }

// KubeletClientCA is the kubelet's clientCAFile: the proxy's certificate, and for some minutes
// after a renewal the one before it. It has no authority in it.
func (l Layout) KubeletClientCA() string { return filepath.Join(l.Node(), "kubelet-client-ca.crt") }

// formerClientCAKey is the key of the authority that older versions made on each node.
func (l Layout) FormerClientCAKey() string { return filepath.Join(l.Node(), "kubelet-client-ca.key") }

// KubeletConfigDir is what --config-dir says.
func (l Layout) KubeletConfigDir() string { return filepath.Join(l.Node(), "kubelet.conf.d") }

// KubeletDropIn is our part of the kubelet's configuration.
func (l Layout) KubeletDropIn() string {
	return filepath.Join(l.KubeletConfigDir(), "90-bulkhead.conf")
}

// KubeletUnit is our part of the kubelet's unit. It is read after kubeadm's.
func (l Layout) KubeletUnit() string {
	return filepath.Join(l.Units, "kubelet.service.d", "90-bulkhead.conf")
}

// RenewService renews the proxy's certificate, and copies what the proxy reads.
func (l Layout) RenewService() string { return filepath.Join(l.Units, RenewUnit+".service") }

// RenewTimer says when.
func (l Layout) RenewTimer() string { return filepath.Join(l.Units, RenewUnit+".timer") }

// RenewPath has it done at once when what is copied has changed.
func (l Layout) RenewPath() string { return filepath.Join(l.Units, RenewUnit+".path") }

// renewal are the units of all three.
func (l Layout) RenewalUnits() []string {
	return []string{l.RenewService(), l.RenewTimer(), l.RenewPath()}
}

// RenewUnit is the name of the systemd units that renew the certificate of kubelet-auth-proxy.
const RenewUnit = "bulkhead-node-renew"

func (l Layout) NodeJournal() string { return filepath.Join(l.Node(), "journal") }
func (l Layout) NodeRecord() string  { return filepath.Join(l.Node(), "record.json") }
