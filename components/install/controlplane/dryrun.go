// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
	"github.com/bulkhead-k8s/bulkhead/components/install/kubeadmconfig"
	"github.com/bulkhead-k8s/bulkhead/components/install/render"
)

// DryRun prints what Install would change. It changes nothing.
func (in *Installer) DryRun(ctx context.Context, o Options) error {
	if o.Profile == InTree {
		in.Logf("bulkhead uninstall would run: kube-apiserver's manifest restored, everything under %s removed",
			in.Layout.State)
		return nil
	}
	if err := o.validate(); err != nil {
		return err
	}
	if err := in.Preflight(ctx, o); err != nil {
		return err
	}
	p, err := in.newPlan(ctx, o)
	if err != nil {
		return err
	}
	if err := p.printFiles(); err != nil {
		return err
	}
	return p.printObjects(ctx)
}

func (p *plan) printFiles() error {
	for _, s := range p.Layout.Rotator(p.Certificates, p.Now).Status() {
		p.would(s.Due != "", "make the certificate "+s.File)
	}
	files, err := p.files()
	if err != nil {
		return err
	}
	for _, f := range files {
		have, err := os.ReadFile(f.path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		p.would(!bytes.Equal(have, f.data), "write "+f.path)
	}
	if p.scopeEnds {
		p.would(true, "stop kube-apiserver's requests about scoped accounts, and remove scope-sync and what it may do")
	}
	p.would(!bytes.Equal(p.current, p.wired), "restart kube-apiserver, by its changed manifest")
	return nil
}

// rendered is a file with its wanted content.
type rendered struct {
	path string
	data []byte
}

func (p *plan) files() ([]rendered, error) {
	authorization, err := p.authorizationNow()
	if err != nil {
		return nil, err
	}
	files := []rendered{
		{p.Layout.AuthorizationConfig(), authorization},
		{p.Layout.NodeAuthorizerManifest(), p.authorizerPod},
		{p.Layout.NodeRestrictionManifest(), p.restrictionPod},
		{p.Layout.AdmissionConfig(), p.admission},
		{p.Layout.APIServerManifest(), p.wired},
		{p.Layout.CertsManifest(), p.certsPod},
	}
	if p.approverPod != nil {
		files = append(files, rendered{p.Layout.KubeletApproverManifest(), p.approverPod})
	}
	if p.policy != nil {
		files = append(files, rendered{p.Layout.RestrictionPolicy(), p.policy})
	}
	if !p.fromDisk {
		return files, nil
	}
	// Without a CA there is no registration yet, so any content counts as different.
	ca, err := os.ReadFile(p.Layout.CA().CertFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	data, err := p.registrationFile(ca)
	if err != nil || !p.NodeScope.On {
		return append(files, rendered{p.Layout.Registration(), data}), err
	}
	scope, err := p.scopeRegistration(ca)
	return append(files, rendered{p.Layout.Registration(), data},
		rendered{p.Layout.ScopeRegistration(), scope}, rendered{p.Layout.ScopeSyncManifest(), p.scopeSync}), err
}

func (p *plan) printObjects(ctx context.Context) error {
	objects, err := p.objects()
	if err != nil {
		return err
	}
	for _, object := range objects {
		have, err := p.Objects.Get(ctx, object)
		if err != nil {
			return err
		}
		p.would(have == nil || !render.Contains(have.Object, object.Object), "apply "+object.GetKind()+" "+object.GetName())
	}
	if err := p.printProxies(ctx); err != nil {
		return err
	}
	_, annotations, err := p.annotations(ctx)
	if err != nil {
		return err
	}
	p.would(annotations != nil, "annotate namespace kube-system")
	return p.printHosts(ctx)
}

// printHosts prints the changes to what all control-plane hosts share.
func (p *plan) printHosts(ctx context.Context) error {
	entries, err := hosts.Entries(ctx, p.ConfigMaps)
	if err != nil {
		return err
	}
	// Before the first installation, a file may be missing that the entry is about.
	entry, err := p.entry()
	p.would(err != nil || entries[p.Layout.NodeName()] != entry, "list this host in ConfigMap "+hosts.ConfigMapName)
	kubeadm, err := p.Kubeadm.KubeadmConfig(ctx)
	if err != nil || kubeadm == "" {
		return err
	}
	others, err := p.otherHosts(ctx)
	if err != nil {
		return err
	}
	p.rememberKubeadm(kubeadm)
	edited, err := kubeadmconfig.Wire(kubeadm, kubeadmWiring(p.Layout, p.record),
		p.record.Kubeadm.kubeadm())
	p.would(edited != kubeadm && len(others.missing) == 0, "edit ConfigMap kubeadm-config")
	return err
}

// printProxies prints the changes to kubelet-auth-proxy on the nodes.
func (p *plan) printProxies(ctx context.Context) error {
	if !p.GuardsKubelets() {
		there, err := p.guardsInCluster(ctx)
		p.would(len(there) > 0, "remove kubelet-auth-proxy, unless another host or a kubelet behind it needs it")
		return err
	}
	objects, err := proxyObjects()
	if err != nil {
		return err
	}
	for _, object := range objects {
		have, err := p.Objects.Get(ctx, object)
		if err != nil {
			return err
		}
		if err := p.finish(ctx, object, have); err != nil {
			return err
		}
		p.would(!p.applied(have, object), "apply "+object.GetKind()+" "+object.GetName())
	}
	return nil
}

func (p *plan) would(change bool, what string) {
	if change {
		p.Logf("  would      %s", what)
		return
	}
	p.Logf("  unchanged  %s", what)
}
