// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
	"github.com/bulkhead-k8s/bulkhead/components/install/scope"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

// Profile selects the authorizers of the API server, their order, and the admission checks for
// writes of nodes.
type Profile string

const (
	// Hardened has node-authorizer in strict mode before in-tree Node and RBAC, and
	// node-restriction after in-tree NodeRestriction.
	Hardened Profile = "hardened"
	// Parity replaces in-tree Node with node-authorizer, and in-tree NodeRestriction with
	// node-restriction.
	Parity Profile = "parity"
	// InTree has no component of Bulkhead.
	InTree Profile = "in-tree"
)

// ParseProfile returns the profile with this name. An unknown name is an error.
func ParseProfile(name string) (Profile, error) {
	switch p := Profile(name); p {
	case Hardened, Parity, InTree:
		return p, nil
	}
	return "", fmt.Errorf("profile %q: it is one of hardened, parity and in-tree", name)
}

// mode returns node-authorizer's --mode.
func (p Profile) mode() string {
	if p == Parity {
		return "compat"
	}
	return "strict"
}

// authorization returns the name of the file with the API server's authorizers.
func (p Profile) authorization() string {
	if p == Parity {
		return manifests.AuthorizationParity
	}
	return manifests.AuthorizationHardened
}

// registration returns the name of the file with the webhook configuration.
func (p Profile) registration() string {
	if p == Parity {
		return manifests.RegistrationParity
	}
	return manifests.RegistrationHardened
}

// Options are the user's settings for an installation.
type Options struct {
	Profile      Profile
	Image        string
	Certificates pki.Policy
	Extensions   Extensions
	// Policy is the configuration file of node-restriction, if the user has chosen one.
	Policy Policy
	// ExtensionsSet is true if the user set rule modes or flags of kubelet-auth-proxy in this run.
	// Otherwise the modes and flags that all nodes share stay.
	ExtensionsSet bool
	// KubeletAPI is true if Hardened also protects the kubelets' API. That needs kubelet-auth-proxy
	// on the nodes, the approver of their certificates, and the policy for nodes/proxy. It is nil
	// if the user has never set it. Then Hardened protects the API, unless Bulkhead already runs in
	// the cluster without this protection.
	KubeletAPI *bool
	// KubeletAPISaid is true if the user set KubeletAPI in this run.
	KubeletAPISaid bool
	// NodeScope has the settings for node scope. Install does not read the record for them: the
	// caller passes the recorded values of flags that are not set.
	NodeScope scope.Options
	// NodesOnly ends the installation after the steps that `bulkhead node install` depends on. It
	// does not change the API server.
	NodesOnly bool
	// AdmissionConfigFile is only for Prepare: the AdmissionConfiguration that kube-apiserver had on
	// the other hosts before Bulkhead. Install finds it by itself.
	AdmissionConfigFile string
	// AllowDowngrade allows an installation although another host was installed by a newer version.
	AllowDowngrade bool
	// Timeout limits each wait: for a component, for the API server, and for the old state after a
	// rollback.
	Timeout time.Duration
}

// GuardsKubelets is true if the installation protects the kubelets' API.
func (o Options) GuardsKubelets() bool {
	return o.Profile == Hardened && (o.KubeletAPI == nil || *o.KubeletAPI)
}

// givesUpKubelets is true if the user removes this protection from the whole cluster in this run.
func (o Options) givesUpKubelets() bool {
	return o.KubeletAPISaid && o.KubeletAPI != nil && !*o.KubeletAPI
}
