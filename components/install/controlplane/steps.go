// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/render"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

func (p *plan) saveOriginal(context.Context) (bool, error) {
	return p.write(p.Layout.OriginalManifest(), p.original, 0o600)
}

func (p *plan) runAuthorizer(ctx context.Context) (bool, error) {
	return p.run(ctx, p.Authorizer, "the node authorizer", p.Layout.NodeAuthorizerManifest(), p.authorizerPod)
}

// runRestriction writes the configuration file first, so that node-restriction finds it at its
// start.
func (p *plan) runRestriction(ctx context.Context) (wrote bool, err error) {
	if p.policyKept {
		p.Note("%s was changed by hand: it is kept", p.Layout.RestrictionPolicy())
	}
	if p.policy != nil {
		wrote, err = p.writeForComponent(p.Layout.NodeRestriction(), filepath.Base(p.Layout.RestrictionPolicy()), p.policy)
		if err != nil {
			return wrote, err
		}
	}
	changed, err := p.run(ctx, p.Restriction, "node-restriction", p.Layout.NodeRestrictionManifest(), p.restrictionPod)
	return wrote || changed, err
}

func (p *plan) run(ctx context.Context, c Component, what, manifest string, pod []byte) (bool, error) {
	// An error means that no process runs. Then any process is a new one.
	before, _ := c.Start(ctx)
	changed, err := p.write(manifest, pod, 0o600)
	if err != nil {
		return changed, err
	}
	if !changed {
		before = ""
	}
	return changed, p.waitComponent(ctx, c, what, p.Timeout, before)
}

func (p *plan) writeAuthorization(context.Context) (bool, error) {
	kubeconfig, err := render.HostFile(p.Layout, manifests.NodeAuthorizerKubeconfig)
	if err != nil {
		return false, err
	}
	first, err := p.write(filepath.Join(p.Layout.APIServer(), "node-authorizer.kubeconfig"), kubeconfig, 0o600)
	if err != nil {
		return first, err
	}
	if p.NodeScope.On {
		wrote, err := p.writeScopeKubeconfig()
		first = first || wrote
		if err != nil {
			return first, err
		}
	}
	// Read the lists as late as possible: scope-sync may have written since the plan was made.
	data, err := p.authorizationNow()
	if err != nil {
		return first, err
	}
	// Validation also reads the kubeconfig.
	if err := apiserver.ValidateAuthorization(data); err != nil {
		return first, err
	}
	second, err := p.write(p.Layout.AuthorizationConfig(), data, 0o600)
	return first || second, err
}

func (p *plan) switchServer(ctx context.Context) (bool, error) {
	before, err := p.Server.Process(ctx)
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
	return changed, p.waitNewServer(ctx, p.Timeout, before, p.filesInForce)
}

func (p *plan) writeRecord(context.Context) (bool, error) {
	data, err := p.record.encode()
	if err != nil {
		return false, err
	}
	return p.write(p.Layout.Record(), data, 0o600)
}

// manifestMode returns the mode that kubeadm gave the file.
func manifestMode(path string) fs.FileMode {
	if info, err := os.Stat(path); err == nil {
		return info.Mode().Perm()
	}
	return 0o600
}
