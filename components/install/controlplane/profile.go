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

// Profile is which authorizers the API server has, in which order, and what checks
// the writes of nodes.
type Profile string

const (
	// Hardened is ours, strict, in front of in-tree Node and RBAC, and ours behind
	// in-tree NodeRestriction.
	Hardened Profile = "hardened"
	// Parity is ours in the place of in-tree Node and of in-tree NodeRestriction.
	Parity Profile = "parity"
	// InTree is nothing of ours.
	InTree Profile = "in-tree"
)

// ParseProfile reads the name of a profile.
func ParseProfile(name string) (Profile, error) {
	switch p := Profile(name); p {
	case Hardened, Parity, InTree:
		return p, nil
	}
	return "", fmt.Errorf("profile %q: it is one of hardened, parity and in-tree", name)
}

// mode is the node authorizer's --mode.
func (p Profile) mode() string {
	if p == Parity {
		return "compat"
	}
	return "strict"
}

// authorization is the manifest with the API server's authorizers.
func (p Profile) authorization() string {
	if p == Parity {
		return manifests.AuthorizationParity
	}
	return manifests.AuthorizationHardened
}

// registration is the manifest with the webhook for this profile.
func (p Profile) registration() string {
	if p == Parity {
		return manifests.RegistrationParity
	}
	return manifests.RegistrationHardened
}

// Options are what a person decides about an installation.
type Options struct {
	Profile      Profile
	Image        string
	Certificates pki.Policy
	Beyond       Beyond
	// Policy is the file for node-restriction that a person has chosen.
	Policy Policy
	// BeyondSaid is true if a person has just said something about the modes of rules.
	// What all nodes share of them is changed by nothing else.
	BeyondSaid bool
	// KubeletAPI says whether Hardened guards the kubelets' API, too: kubelet-auth-proxy
	// on the nodes, the approver of their certificates, and the policy about nodes/proxy.
	// Nil where nobody has ever said: it does then, unless our components run in the
	// cluster already, without it.
	KubeletAPI *bool
	// KubeletAPISaid is true if a person has just said what KubeletAPI is.
	KubeletAPISaid bool
	// NodeScope says whether accounts can be held to the nodes of their pods. It is not
	// remembered: without it, nobody is.
	NodeScope scope.Options
	// NodesOnly stops after what `bulkhead node install` needs on the nodes, before the
	// API server is touched.
	NodesOnly bool
	// Timeout bounds each wait: for a component, for the API server, and for the old
	// state when it is put back.
	Timeout time.Duration
}

// GuardsKubelets is true if an installation has what stands before the kubelets' API.
func (o Options) GuardsKubelets() bool {
	return o.Profile == Hardened && (o.KubeletAPI == nil || *o.KubeletAPI)
}

// givesUpKubelets is true if a person has just said that there shall be no such thing in
// the whole cluster.
func (o Options) givesUpKubelets() bool {
	return o.KubeletAPISaid && o.KubeletAPI != nil && !*o.KubeletAPI
}
