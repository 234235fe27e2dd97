// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

// scopeSyncPod is the static pod that keeps the lists of accounts; nil without node
// scope.
func (l Layout) scopeSyncPod(o Options) ([]byte, error) {
	if !o.NodeScope.On {
		return nil, nil
	}
	pod, err := l.pod(manifests.ScopeSyncStaticPod, scopeSyncName, o)
	if err != nil {
		return nil, err
	}
	pod.SetArg("node-name", l.NodeName())
	return pod.YAML()
}

// withEntry puts the entry for accounts into a profile's authorization file: before
// everybody who could allow something to an account. The comments of both stay.
func (l Layout) withEntry(profile []byte) ([]byte, error) {
	scoped, err := l.hostFile(manifests.AuthorizationNodeScope)
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

// authorizationNow is the authorization file as it shall be, with the accounts that
// are listed in the one that is there. The profile's file alone is what kube-apiserver's
// manifest is annotated with: the entry and its list come and go without a restart.
func (p *plan) authorizationNow() ([]byte, error) {
	if !p.NodeScope.On {
		return p.authorization, nil
	}
	data, err := p.Layout.withEntry(p.authorization)
	if err != nil {
		return nil, err
	}
	return keepAccounts(scopelist.Authorization, data, p.Layout.AuthorizationConfig())
}

// scopeRegistrationNow is the same for what the accounts write.
func (p *plan) scopeRegistrationNow(ca []byte) ([]byte, error) {
	data, err := renderRegistration(manifests.RegistrationNodeScope, ca)
	if err != nil {
		return nil, err
	}
	return keepAccounts(scopelist.Admission, data, p.Layout.ScopeRegistration())
}

func (p *plan) writeScopeRegistration() (bool, error) {
	ca, err := os.ReadFile(p.Layout.CA().CertFile)
	if err != nil {
		return false, err
	}
	data, err := p.scopeRegistrationNow(ca)
	if err != nil {
		return false, err
	}
	if err := apiserver.ValidateRegistration(data); err != nil {
		return false, err
	}
	return p.write(p.Layout.ScopeRegistration(), data, 0o600)
}

func (p *plan) writeScopeKubeconfig() (bool, error) {
	data, err := p.Layout.hostFile(manifests.NodeScopeKubeconfig)
	if err != nil {
		return false, err
	}
	return p.write(filepath.Join(p.Layout.APIServer(), scopeKubeconfig), data, 0o600)
}
