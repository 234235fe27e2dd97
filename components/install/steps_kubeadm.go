// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"

	"github.com/bulkhead-k8s/bulkhead/components/install/kubeadmconfig"
)

const objectKubeadm = "kubeadm-config"

func (p *plan) tellKubeadm(ctx context.Context) (bool, error) {
	current, err := p.API.KubeadmConfig(ctx)
	if err != nil {
		return false, err
	}
	if current == "" {
		p.progress().note("there is no ConfigMap kubeadm-config: whatever writes kube-apiserver's manifest has to be told " +
			"by hand")
		return false, nil
	}
	p.rememberKubeadm(current)
	edited, err := kubeadmconfig.Wire(current, p.Layout.kubeadmWiring(p.Profile, p.record.VerifyKubelets),
		p.record.Kubeadm.kubeadm())
	if err != nil || edited == current {
		return false, err
	}
	if !kubeadmconfig.Wired(current, p.Layout.kubeadmWiring(p.Profile, p.record.VerifyKubelets)) {
		if _, err := p.write(p.Layout.originalKubeadm(), []byte(current), 0o600); err != nil {
			return false, err
		}
	}
	if err := p.journal.Object(objectKubeadm, []byte(current)); err != nil {
		return false, err
	}
	if err := p.journal.Wrote(objectKubeadm, []byte(edited)); err != nil {
		return false, err
	}
	p.record.Kubeadm.Written = hash([]byte(edited))
	p.progress().note("kubeadm names our files from now on: before `kubeadm join --control-plane`, run `bulkhead " +
		"prepare` on the new host")
	return true, p.API.SetKubeadmConfig(ctx, edited)
}

// rememberKubeadm records what the flags that we edit said before us.
func (p *plan) rememberKubeadm(current string) {
	wiring, read := p.Layout.kubeadmWiring(p.Profile, p.record.VerifyKubelets), kubeadmconfig.Read(current)
	if !kubeadmconfig.Wired(current, wiring) {
		p.record.Kubeadm = Edit{Modes: read.Modes}
	} else if hash([]byte(current)) != p.record.Kubeadm.Written {
		p.record.Kubeadm.Drifted = true
	}
	if !kubeadmconfig.AdmissionWired(current, wiring) {
		p.record.Kubeadm.Admission = read.Before
	}
}
