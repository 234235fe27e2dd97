// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
	"github.com/bulkhead-k8s/bulkhead/components/install/render"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// makeCertificates records only its directories in the journal. The old state also works with a
// renewed certificate.
func (p *plan) makeCertificates(context.Context) (bool, error) {
	if err := p.makeDirs(); err != nil {
		return false, err
	}
	madeCA, err := pki.EnsureCA(p.Layout.CA(), "bulkhead-ca", p.Now())
	if err != nil {
		return false, err
	}
	renewed, err := p.Layout.Rotator(p.Certificates, p.Now).Renew(false)
	if err != nil {
		return false, err
	}
	wrote, err := p.writeTrust()
	return madeCA || len(renewed) > 0 || wrote, err
}

func (p *plan) makeDirs() error {
	for _, dir := range []string{p.Layout.PKI(), p.Layout.APIServer(), p.Layout.StaticManifests(),
		p.Layout.StaticPolicies()} {
		if err := p.journal.NewDir(dir, 0o700, atomicfile.KeepOwner); err != nil {
			return err
		}
	}
	for _, dir := range []string{p.Layout.NodeAuthorizer(), p.Layout.NodeRestriction(), p.Layout.KubeletApprover(),
		p.Layout.ScopeSync()} {
		// With set-group-ID, renewed files get the same group, although the renewer may not change
		// owners.
		if err := p.journal.NewDir(dir, fs.ModeSetgid|0o750, p.Layout.ComponentGID); err != nil {
			return err
		}
	}
	return nil
}

// writeTrust writes the CA certificates that each verifier needs, and the kubeconfigs with which
// the components reach the API server.
func (p *plan) writeTrust() (changed bool, err error) {
	ours, err := os.ReadFile(p.Layout.CA().CertFile)
	if err != nil {
		return false, err
	}
	clusters, err := os.ReadFile(p.Layout.KubeCA().CertFile)
	if err != nil {
		return false, err
	}
	if changed, err = p.write(filepath.Join(p.Layout.APIServer(), "node-authorizer-ca.crt"), ours, 0o600); err != nil {
		return changed, err
	}
	for _, c := range []struct{ dir, user string }{
		{p.Layout.NodeAuthorizer(), host.NodeAuthorizerUser}, {p.Layout.NodeRestriction(), host.NodeRestrictionUser},
		{p.Layout.KubeletApprover(), host.KubeletApproverUser}, {p.Layout.ScopeSync(), host.ScopeSyncUser},
	} {
		kubeconfig, err := render.Kubeconfig(p.endpoint, c.dir, c.user)
		if err != nil {
			return changed, err
		}
		for name, data := range map[string][]byte{"client-ca.crt": ours, "kube-ca.crt": clusters, "kubeconfig": kubeconfig} {
			wrote, err := p.writeForComponent(c.dir, name, data)
			changed = changed || wrote
			if err != nil {
				return changed, err
			}
		}
	}
	return changed, nil
}
