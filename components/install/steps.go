// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/hostfs"
	"github.com/bulkhead-k8s/bulkhead/components/install/kubeadmconfig"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

const objectKubeadm = "kubeadm-config"

func (p *plan) saveOriginal(context.Context) (bool, error) {
	return p.write(p.Layout.originalManifest(), p.original, 0o600)
}

// makeCertificates is not in the journal but for its directories: a certificate
// that was renewed is as good for the old state as the one before.
func (p *plan) makeCertificates(context.Context) (bool, error) {
	if err := p.makeDirs(); err != nil {
		return false, err
	}
	madeCA, err := pki.EnsureCA(p.Layout.CA(), "bulkhead-ca", p.Now())
	if err != nil {
		return false, err
	}
	renewed, err := p.Layout.Keeper(p.Certificates, p.Now).Renew(false)
	if err != nil {
		return false, err
	}
	copied, err := p.copyCAs()
	if err != nil {
		return false, err
	}
	kubeconfig, err := p.Layout.nodeAuthorizerKubeconfig(p.endpoint)
	if err != nil {
		return false, err
	}
	wrote, err := p.writeForComponent("kubeconfig", kubeconfig)
	return madeCA || len(renewed) > 0 || copied || wrote, err
}

func (p *plan) makeDirs() error {
	if err := p.journal.NewDir(p.Layout.PKI(), 0o700, hostfs.KeepOwner); err != nil {
		return err
	}
	if err := p.journal.NewDir(p.Layout.APIServer(), 0o700, hostfs.KeepOwner); err != nil {
		return err
	}
	// Set-group-ID: what is renewed in it later belongs to the same group, though
	// the renewer may not change owners.
	return p.journal.NewDir(p.Layout.NodeAuthorizer(), fs.ModeSetgid|0o750, p.Layout.ComponentGID)
}

// copyCAs gives every verifier the authority that it has to know.
func (p *plan) copyCAs() (changed bool, err error) {
	ours, err := os.ReadFile(p.Layout.CA().CertFile)
	if err != nil {
		return false, err
	}
	clusters, err := os.ReadFile(p.Layout.KubeCA().CertFile)
	if err != nil {
		return false, err
	}
	server, err := p.write(filepath.Join(p.Layout.APIServer(), "node-authorizer-ca.crt"), ours, 0o600)
	if err != nil {
		return server, err
	}
	client, err := p.writeForComponent("client-ca.crt", ours)
	if err != nil {
		return server || client, err
	}
	cluster, err := p.writeForComponent("kube-ca.crt", clusters)
	return server || client || cluster, err
}

func (p *plan) runComponent(ctx context.Context) (bool, error) {
	// An error means that none runs, so any process is a new one.
	before, _ := p.Component.Start(ctx)
	changed, err := p.write(p.Layout.NodeAuthorizerManifest(), p.componentPod, 0o600)
	if err != nil {
		return changed, err
	}
	if !changed {
		before = ""
	}
	return changed, p.waitComponent(ctx, p.Timeout, before)
}

func (p *plan) writeAuthorization(context.Context) (bool, error) {
	kubeconfig, err := p.Layout.hostFile(manifests.NodeAuthorizerKubeconfig)
	if err != nil {
		return false, err
	}
	first, err := p.write(filepath.Join(p.Layout.APIServer(), "node-authorizer.kubeconfig"), kubeconfig, 0o600)
	if err != nil {
		return first, err
	}
	// Validation also looks for the kubeconfig and reads it.
	if err := apiserver.ValidateAuthorization(p.authorization); err != nil {
		return first, err
	}
	second, err := p.write(p.Layout.AuthorizationConfig(), p.authorization, 0o600)
	return first || second, err
}

func (p *plan) switchServer(ctx context.Context) (bool, error) {
	before, err := p.API.Process(ctx)
	if err != nil {
		return false, fmt.Errorf("reading the running server's metrics: %w", err)
	}
	changed, err := p.write(p.Layout.APIServerManifest(), p.wired, manifestMode(p.Layout.APIServerManifest()))
	if err != nil {
		return changed, err
	}
	if !changed {
		before.Start = ""
	}
	return changed, p.waitNewServer(ctx, p.Timeout, before, hash(p.authorization))
}

func (p *plan) tellKubeadm(ctx context.Context) (bool, error) {
	current, err := p.API.KubeadmConfig(ctx)
	if err != nil {
		return false, err
	}
	if current == "" {
		p.progress().note("there is no ConfigMap kubeadm-config: whatever writes kube-apiserver's manifest has to be told by hand")
		return false, nil
	}
	if kubeadmconfig.Wired(current, p.Layout.kubeadmWiring()) {
		return false, nil
	}
	edited, modes, err := kubeadmconfig.Wire(current, p.Layout.kubeadmWiring())
	if err != nil {
		return false, err
	}
	if _, err := p.write(p.Layout.originalKubeadm(), []byte(current), 0o600); err != nil {
		return false, err
	}
	if err := p.journal.Object(objectKubeadm, []byte(current)); err != nil {
		return false, err
	}
	if err := p.journal.Wrote(objectKubeadm, []byte(edited)); err != nil {
		return false, err
	}
	p.record.Kubeadm = Edit{Written: hash([]byte(edited)), Modes: modes}
	p.progress().note("kubeadm names our authorization file from now on: before `kubeadm join --control-plane`, run `bulkhead prepare` on the new host")
	return true, p.API.SetKubeadmConfig(ctx, edited)
}

func (p *plan) writeRecord(context.Context) (bool, error) {
	data, err := p.record.encode()
	if err != nil {
		return false, err
	}
	return p.write(p.Layout.record(), data, 0o600)
}

// manifestMode keeps the mode that kubeadm gave the file.
func manifestMode(path string) fs.FileMode {
	if info, err := os.Stat(path); err == nil {
		return info.Mode().Perm()
	}
	return 0o600
}
