// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

// Profile is which authorizers the API server has, and in which order.
type Profile string

const (
	// Hardened is ours, strict, in front of in-tree Node and RBAC.
	Hardened Profile = "hardened"
	// Parity is ours in the place of in-tree Node.
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

// Options are what a person decides about an installation.
type Options struct {
	Profile      Profile
	Image        string
	Certificates pki.Policy
	// Timeout bounds each wait: for the node authorizer, for the API server, and
	// for the old state when it is put back.
	Timeout time.Duration
}
