// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"path/filepath"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/kubeadmconfig"
)

// DefaultStateDir is the path under which the files in manifests/ know each
// other.
const DefaultStateDir = "/etc/kubernetes/bulkhead"

// ComponentGID is the group of the node authorizer's process, which reads its
// files and cannot change them.
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
	// Lock is held while the host is being changed.
	Lock string
	// ComponentGID is the group that may read the node authorizer's files.
	ComponentGID int
}

// DefaultLayout is that of a host made by kubeadm.
func DefaultLayout() Layout {
	return Layout{
		Manifests:    "/etc/kubernetes/manifests",
		State:        DefaultStateDir,
		KubePKI:      "/etc/kubernetes/pki",
		KubeletConf:  "/etc/kubernetes/kubelet.conf",
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

// CertsManifest is the static pod that renews our certificates.
func (l Layout) CertsManifest() string {
	return filepath.Join(l.Manifests, "bulkhead-certs.yaml")
}

// PKI is the directory of our certificate authority.
func (l Layout) PKI() string { return filepath.Join(l.State, "pki") }

// APIServer is the directory that kube-apiserver sees.
func (l Layout) APIServer() string { return filepath.Join(l.State, "apiserver") }

// NodeAuthorizer is the directory that the node authorizer sees.
func (l Layout) NodeAuthorizer() string { return filepath.Join(l.State, "node-authorizer") }

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

func (l Layout) wiring(configHash string) apiserver.Wiring {
	return apiserver.Wiring{Dir: l.APIServer(), ConfigFile: l.AuthorizationConfig(), ConfigHash: configHash}
}

func (l Layout) kubeadmWiring() kubeadmconfig.Wiring {
	return kubeadmconfig.Wiring{VolumeName: apiserver.VolumeName, Dir: l.APIServer(), ConfigFile: l.AuthorizationConfig()}
}
