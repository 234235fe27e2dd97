// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/render"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

// SyncPod returns the static pod of scope-sync, which updates the lists of accounts. It returns nil
// without node scope.
func SyncPod(l host.Layout, s Options, image string) ([]byte, error) {
	if !s.On {
		return nil, nil
	}
	pod, err := render.Pod(l, manifests.ScopeSyncStaticPod, SyncName, image)
	if err != nil {
		return nil, err
	}
	pod.SetArg("node-name", l.NodeName())
	return pod.YAML()
}

// withEntry adds the entry for scoped accounts to a profile's authorization file. The entry goes
// before every authorizer that could allow a request of an account. The comments of both files
// stay.
func withEntry(l host.Layout, profile []byte) ([]byte, error) {
	scoped, err := render.HostFile(l, manifests.AuthorizationNodeScope)
	if err != nil {
		return nil, err
	}
	const begin = "authorizers:\n"
	_, entry, found := strings.Cut(string(scoped), begin)
	at := -1
	for _, next := range []string{"  - type: Node\n", "  - type: RBAC\n"} {
		if at = bytes.Index(profile, []byte(next)); at >= 0 {
			break
		}
	}
	if !found || at < 0 {
		return nil, fmt.Errorf("%s does not fit the profile's file", manifests.AuthorizationNodeScope)
	}
	return bytes.Join([][]byte{profile[:at], []byte(entry), profile[at:]}, nil), nil
}

// Authorization returns a profile's authorization file with the entry for scoped accounts. It keeps
// the accounts in the current file on this host, and fails if it cannot read them.
func Authorization(l host.Layout, profile []byte) ([]byte, error) {
	data, err := withEntry(l, profile)
	if err != nil {
		return nil, err
	}
	return keepAccounts(scopelist.Authorization, data, l.AuthorizationConfig())
}

// Registration returns the webhook configuration for writes of scoped accounts. It keeps the
// accounts in the current file on this host, and fails if it cannot read them.
func Registration(l host.Layout, ca []byte) ([]byte, error) {
	data, err := render.RegistrationFile(manifests.RegistrationNodeScope, ca)
	if err != nil {
		return nil, err
	}
	return keepAccounts(scopelist.Admission, data, l.ScopeRegistration())
}
