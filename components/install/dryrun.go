// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/bulkhead-k8s/bulkhead/components/install/kubeadmconfig"
)

// DryRun says what Install would change, and changes nothing.
func (in *Installer) DryRun(ctx context.Context, o Options) error {
	if o.Profile == InTree {
		in.progress().say("bulkhead uninstall would run: kube-apiserver's manifest restored, everything under %s removed", in.Layout.State)
		return nil
	}
	if err := ValidatePolicy(o.Certificates); err != nil {
		return err
	}
	if err := in.Preflight(ctx, o.Profile); err != nil {
		return err
	}
	p, err := in.newPlan(o)
	if err != nil {
		return err
	}
	if err := p.sayFiles(); err != nil {
		return err
	}
	return p.sayObjects(ctx)
}

func (p *plan) sayFiles() error {
	for _, s := range p.Layout.Keeper(p.Certificates, p.Now).Status() {
		p.would(s.Due != "", "make the certificate "+s.File)
	}
	for _, f := range []struct {
		path string
		data []byte
	}{
		{p.Layout.NodeAuthorizerManifest(), p.componentPod},
		{p.Layout.AuthorizationConfig(), p.authorization},
		{p.Layout.APIServerManifest(), p.wired},
		{p.Layout.CertsManifest(), p.certsPod},
	} {
		have, err := os.ReadFile(f.path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		p.would(!bytes.Equal(have, f.data), "write "+f.path)
	}
	p.would(!bytes.Equal(p.current, p.wired), "restart kube-apiserver, by its changed manifest")
	return nil
}

func (p *plan) sayObjects(ctx context.Context) error {
	objects, err := rbacObjects()
	if err != nil {
		return err
	}
	for _, object := range objects {
		have, err := p.API.Get(ctx, object)
		if err != nil {
			return err
		}
		p.would(have == nil || !says(have.Object, object.Object), "apply "+object.GetKind()+" "+object.GetName())
	}
	kubeadm, err := p.API.KubeadmConfig(ctx)
	if err != nil {
		return err
	}
	p.would(kubeadm != "" && !kubeadmconfig.Wired(kubeadm, p.Layout.kubeadmWiring()), "edit ConfigMap kubeadm-config")
	return nil
}

func (p *plan) would(change bool, what string) {
	if change {
		p.progress().say("  would      %s", what)
		return
	}
	p.progress().say("  unchanged  %s", what)
}
