// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"path/filepath"

	"github.com/bulkhead-k8s/bulkhead/components/install/admissionflags"
	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/kubeadmconfig"
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
func (l Layout) ourManifests() []string {
	return []string{l.ScopeSyncManifest(), l.KubeletApproverManifest(), l.CertsManifest(), l.NodeRestrictionManifest(),
		l.NodeAuthorizerManifest()}
}

// ourDirs are the directories of this host's control plane. Those of `bulkhead node
// install` are not among them.
func (l Layout) ourDirs() []string {
	return []string{l.NodeAuthorizer(), l.NodeRestriction(), l.KubeletApprover(), l.ScopeSync(), l.APIServer(), l.PKI(),
		l.state()}
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

func (l Layout) state() string            { return filepath.Join(l.State, "state") }
func (l Layout) journal() string          { return filepath.Join(l.state(), "journal") }
func (l Layout) record() string           { return filepath.Join(l.state(), "record.json") }
func (l Layout) originalManifest() string { return filepath.Join(l.state(), "kube-apiserver.yaml") }
func (l Layout) originalKubeadm() string {
	return filepath.Join(l.state(), "kubeadm-cluster-configuration.yaml")
}

// admissionWiring is for Hardened over in-tree NodeRestriction, and with tokens that
// end when they say: what a rule of ours bounds at admission, the API server would
// stretch to a year afterwards.
func (l Layout) admissionWiring(p Profile, verifyKubelets bool) admissionflags.Wiring {
	return admissionflags.Wiring{
		ConfigFile: l.AdmissionConfig(), Floor: p == Hardened, ExactTokens: p == Hardened,
		KubeletCA: l.KubeCA().CertFile, VerifyKubelets: p == Hardened && verifyKubelets,
	}
}

func (l Layout) wiring(p Profile, verifyKubelets bool, authorization, admission []byte) apiserver.Wiring {
	return apiserver.Wiring{
		Dir: l.APIServer(), ConfigFile: l.AuthorizationConfig(), ConfigHash: hash(authorization),
		Admission: l.admissionWiring(p, verifyKubelets), AdmissionHash: hash(admission),
	}
}

// unwiring is what has to be known to take our edits back, whatever the profile.
func (l Layout) unwiring() apiserver.Wiring { return l.wiring(InTree, false, nil, nil) }

func (l Layout) kubeadmWiring(p Profile, verifyKubelets bool) kubeadmconfig.Wiring {
	return kubeadmconfig.Wiring{
		VolumeName: apiserver.VolumeName, Dir: l.APIServer(), ConfigFile: l.AuthorizationConfig(),
		Admission: l.admissionWiring(p, verifyKubelets),
	}
}
