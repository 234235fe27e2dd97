// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/bulkhead-k8s/bulkhead/components/install/engine"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
	"github.com/bulkhead-k8s/bulkhead/components/install/render"
)

// prepareOperation is the name of this operation in the journal.
const prepareOperation = "prepare"

// PrepareAdmissionFlag is the flag of `bulkhead prepare` for [Options.AdmissionConfigFile].
const PrepareAdmissionFlag = "admission-control-config-file"

// Prepare creates the files that kube-apiserver needs to start on a host that will join the control
// plane. kubeadm creates the manifest from a ConfigMap that names Bulkhead's files once all hosts of
// the control plane have them. Before that, the join does not need Prepare, which does no harm
// then. Install needs a running kube-apiserver on this host, but Prepare does not.
//
// Until Install has run on this host, nothing answers the webhook of node-authorizer. The
// authorizers after it decide. node-restriction is not registered.
func (in *Installer) Prepare(ctx context.Context, o Options) error {
	if o.Profile == InTree {
		return errors.New("profile in-tree needs nothing prepared")
	}
	if err := o.validate(); err != nil {
		return err
	}
	if file := o.AdmissionConfigFile; file != "" && !path.IsAbs(file) {
		return fmt.Errorf("cannot read --%s=%s: the path is relative. Use the absolute path of the file, which must be the "+
			"same on this host and in kube-apiserver's container", PrepareAdmissionFlag, file)
	}
	if _, err := os.Stat(in.Layout.APIServerManifest()); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err,
			fmt.Errorf("%s is there, so this host is in the control plane: run `bulkhead install`",
				in.Layout.APIServerManifest()))
	}
	return in.LockedWithin(ctx, engine.Patience, func() error { return in.prepare(ctx, o) })
}

func (in *Installer) prepare(ctx context.Context, o Options) (err error) {
	unfinished, err := Unfinished(in.Layout)
	if err != nil {
		return err
	}
	if unfinished != "" && unfinished != prepareOperation {
		// This journal describes an API server that no longer exists on this host.
		return fmt.Errorf("%s is left of an earlier life of this host (%s was interrupted): look into it and remove it",
			in.Layout.State, unfinished)
	}
	transaction := in.transaction(o.Timeout)
	if err := transaction.Recover(ctx); err != nil {
		return err
	}
	p := &plan{Installer: in, Options: o}
	if p.authorization, err = render.HostFile(in.Layout, o.Profile.authorization()); err != nil {
		return err
	}
	// This configuration is for any server version: it does not name webhooks on disk.
	if p.admission, err = admission(in.Layout, o, false); err != nil {
		return err
	}
	// The host has no manifest yet, so the path in the container is also the path on the host.
	p.record.APIServer.Admission.ConfigFile = o.AdmissionConfigFile
	if err := p.keepPlugins(func(file string) string { return file }); err != nil {
		return err
	}
	in.Logf("Preparing this host for `kubeadm join --control-plane`")
	if p.journal, err = transaction.Begin(prepareOperation); err != nil {
		return err
	}
	if _, err := transaction.Apply(ctx, p.journal, []engine.Step{
		{Name: "make the API server's client certificate", Apply: p.makeServerCertificates},
		{Name: "write the API server's authorization file", Apply: p.writeAuthorization},
		{Name: "write the API server's admission files", Apply: p.writeAdmission},
	}); err != nil {
		return err
	}
	in.removeIfEmpty()
	in.Logf("Prepared. Join it now, then run `bulkhead install` on it: until then Bulkhead decides nothing there.\n" +
		"If kubeadm-config does not name Bulkhead's files, the join does not use what was prepared.")
	return nil
}

// makeServerCertificates creates only the certificates that kube-apiserver reads. The cluster's CA,
// which signs for the components, arrives with the join.
func (p *plan) makeServerCertificates(context.Context) (bool, error) {
	if err := p.makeDirs(); err != nil {
		return false, err
	}
	madeCA, err := pki.EnsureCA(p.Layout.CA(), "bulkhead-ca", p.Now())
	if err != nil {
		return false, err
	}
	rotator := p.Layout.Rotator(p.Certificates, p.Now)
	rotator.Leaves = slices.DeleteFunc(rotator.Leaves,
		func(l pki.Leaf) bool { return filepath.Dir(l.CertFile) != p.Layout.APIServer() })
	renewed, err := rotator.Renew(false)
	if err != nil {
		return false, err
	}
	ours, err := os.ReadFile(p.Layout.CA().CertFile)
	if err != nil {
		return false, err
	}
	wrote, err := p.write(filepath.Join(p.Layout.APIServer(), "node-authorizer-ca.crt"), ours, 0o600)
	return madeCA || len(renewed) > 0 || wrote, err
}
