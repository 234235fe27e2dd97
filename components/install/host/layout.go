// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package host describes a kubeadm host to all installers: the paths of its files, its node name,
// and the certificates and identities of the components on it.
package host

import (
	"path/filepath"
)

// DefaultStateDir is the directory that the files in manifests/ name.
const DefaultStateDir = "/etc/kubernetes/bulkhead"

// ComponentGID is the group of Bulkhead's processes. They can read their files, but not change
// them.
const ComponentGID = 65532

// Layout defines the paths of all files on the host.
type Layout struct {
	// Manifests is the kubelet's directory of static pods.
	Manifests string
	// State is the directory with all of Bulkhead's files.
	State string
	// KubePKI is kubeadm's directory of certificates.
	KubePKI string
	// KubeletConf is the kubelet's kubeconfig. It contains the name of this node.
	KubeletConf string
	// KubeletPKI is the kubelet's default certificate directory, used unless --cert-dir is set.
	KubeletPKI string
	// Units is systemd's directory for the units of this host.
	Units string
	// Lock is the file that an installer locks while it changes the host.
	Lock string
	// ComponentGID is the group that may read the components' files.
	ComponentGID int
}

// DefaultLayout returns the paths of a host that kubeadm made.
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

// APIServerManifest is the path of kube-apiserver's static pod.
func (l Layout) APIServerManifest() string {
	return filepath.Join(l.Manifests, "kube-apiserver.yaml")
}

// NodeAuthorizerManifest is the path of node-authorizer's static pod.
func (l Layout) NodeAuthorizerManifest() string {
	return filepath.Join(l.Manifests, "bulkhead-node-authorizer.yaml")
}

// NodeRestrictionManifest is the path of node-restriction's static pod.
func (l Layout) NodeRestrictionManifest() string {
	return filepath.Join(l.Manifests, "bulkhead-node-restriction.yaml")
}

// CertsManifest is the path of the static pod that renews Bulkhead's certificates.
func (l Layout) CertsManifest() string {
	return filepath.Join(l.Manifests, "bulkhead-certs.yaml")
}

// KubeletApproverManifest is the path of the static pod that approves kubelets' serving
// certificates.
func (l Layout) KubeletApproverManifest() string {
	return filepath.Join(l.Manifests, "bulkhead-kubelet-approver.yaml")
}

// ScopeSyncManifest is the path of the static pod that updates the lists of scoped accounts.
func (l Layout) ScopeSyncManifest() string {
	return filepath.Join(l.Manifests, "bulkhead-scope-sync.yaml")
}

// ComponentManifests returns the paths of Bulkhead's static pods.
func (l Layout) ComponentManifests() []string {
	return []string{l.ScopeSyncManifest(), l.KubeletApproverManifest(), l.CertsManifest(), l.NodeRestrictionManifest(),
		l.NodeAuthorizerManifest()}
}

// ComponentDirs returns Bulkhead's directories on a control-plane host. It does not return those of
// `bulkhead node install`.
func (l Layout) ComponentDirs() []string {
	return []string{l.NodeAuthorizer(), l.NodeRestriction(), l.KubeletApprover(), l.ScopeSync(), l.APIServer(), l.PKI(),
		l.Records()}
}

// PKI is the directory of Bulkhead's certificate authority.
func (l Layout) PKI() string { return filepath.Join(l.State, "pki") }

// APIServer is the directory that kube-apiserver can read.
func (l Layout) APIServer() string { return filepath.Join(l.State, "apiserver") }

// NodeAuthorizer is the directory that node-authorizer can read.
func (l Layout) NodeAuthorizer() string { return filepath.Join(l.State, "node-authorizer") }

// NodeRestriction is the directory that node-restriction can read.
func (l Layout) NodeRestriction() string { return filepath.Join(l.State, "node-restriction") }

// KubeletApprover is the directory that the approver can read.
func (l Layout) KubeletApprover() string { return filepath.Join(l.State, "kubelet-approver") }

// ScopeSync is the directory with scope-sync's credentials for the API server.
func (l Layout) ScopeSync() string { return filepath.Join(l.State, "scope-sync") }

// RestrictionPolicy is the operator's configuration file of node-restriction.
func (l Layout) RestrictionPolicy() string {
	return filepath.Join(l.NodeRestriction(), "configuration.yaml")
}

// AdmissionConfig is the file that configures admission in kube-apiserver.
func (l Layout) AdmissionConfig() string { return filepath.Join(l.APIServer(), "admission.yaml") }

// StaticManifests is the directory with the webhooks that kube-apiserver reads from disk.
func (l Layout) StaticManifests() string { return filepath.Join(l.APIServer(), "static") }

// StaticPolicies is the directory with the admission policies that kube-apiserver reads from disk.
func (l Layout) StaticPolicies() string { return filepath.Join(l.APIServer(), "static-policies") }

// KubeletPolicy is the admission policy for nodes/proxy.
func (l Layout) KubeletPolicy() string { return filepath.Join(l.StaticPolicies(), "kubelet-api.yaml") }

// Registration is the webhook configuration of node-restriction, which kube-apiserver reads from
// disk.
func (l Layout) Registration() string {
	return filepath.Join(l.StaticManifests(), "node-restriction.yaml")
}

// ScopeRegistration is the webhook configuration of node-restriction for scoped accounts.
func (l Layout) ScopeRegistration() string {
	return filepath.Join(l.StaticManifests(), "node-scope.yaml")
}

// AuthorizationConfig is the file that lists the authorizers of kube-apiserver.
func (l Layout) AuthorizationConfig() string {
	return filepath.Join(l.APIServer(), "authorization.yaml")
}

// Records is the directory of the control-plane installer's record and journal.
func (l Layout) Records() string { return filepath.Join(l.State, "state") }

// Journal is the directory with the state before a run that has not ended.
func (l Layout) Journal() string { return filepath.Join(l.Records(), "journal") }

// Record is the file with what was installed.
func (l Layout) Record() string { return filepath.Join(l.Records(), "record.json") }

// OriginalManifest is kube-apiserver's manifest without Bulkhead.
func (l Layout) OriginalManifest() string { return filepath.Join(l.Records(), "kube-apiserver.yaml") }

// OriginalKubeadm is kubeadm's ClusterConfiguration without Bulkhead.
func (l Layout) OriginalKubeadm() string {
	return filepath.Join(l.Records(), "kubeadm-cluster-configuration.yaml")
}

// Node is the directory with the files for this host as a node: the certificate that the kubelet
// accepts, its configuration, and the record. No pod mounts it.
func (l Layout) Node() string { return filepath.Join(l.State, "node") }

// KubeletProxy is the directory that kubelet-auth-proxy mounts. On a node that is not guarded, the
// kubelet creates it for the idle proxy, and it has no files.
func (l Layout) KubeletProxy() string { return filepath.Join(l.State, "kubelet-auth-proxy") }

// KubeletClientCA is the kubelet's clientCAFile. It contains the proxy's certificate. For some
// minutes after a renewal, it also contains the certificate before it. It contains no CA
// certificate.
func (l Layout) KubeletClientCA() string { return filepath.Join(l.Node(), "kubelet-client-ca.crt") }

// FormerClientCAKey is the key of the authority that older versions created on each node.
func (l Layout) FormerClientCAKey() string { return filepath.Join(l.Node(), "kubelet-client-ca.key") }

// KubeletConfigDir is the value of the kubelet's --config-dir.
func (l Layout) KubeletConfigDir() string { return filepath.Join(l.Node(), "kubelet.conf.d") }

// KubeletDropIn is Bulkhead's drop-in for the kubelet's configuration.
func (l Layout) KubeletDropIn() string {
	return filepath.Join(l.KubeletConfigDir(), "90-bulkhead.conf")
}

// KubeletUnit is Bulkhead's drop-in for the kubelet's unit. systemd reads it after kubeadm's.
func (l Layout) KubeletUnit() string {
	return filepath.Join(l.Units, "kubelet.service.d", "90-bulkhead.conf")
}

// RenewService is the unit that renews the proxy's certificate and copies the files that the proxy
// reads.
func (l Layout) RenewService() string { return filepath.Join(l.Units, RenewUnit+".service") }

// RenewTimer is the unit that starts the service on a schedule.
func (l Layout) RenewTimer() string { return filepath.Join(l.Units, RenewUnit+".timer") }

// RenewPath is the unit that starts the service as soon as a source file changes.
func (l Layout) RenewPath() string { return filepath.Join(l.Units, RenewUnit+".path") }

// RenewalUnits returns the paths of all three units.
func (l Layout) RenewalUnits() []string {
	return []string{l.RenewService(), l.RenewTimer(), l.RenewPath()}
}

// RenewUnit is the name of the systemd units that renew the certificate of kubelet-auth-proxy.
const RenewUnit = "bulkhead-node-renew"

// NodeJournal is the journal of the node's installer.
func (l Layout) NodeJournal() string { return filepath.Join(l.Node(), "journal") }

// NodeRecord is the record of the node's installer.
func (l Layout) NodeRecord() string { return filepath.Join(l.Node(), "record.json") }
