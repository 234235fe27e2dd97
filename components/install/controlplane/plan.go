// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/components/install/render"
	"github.com/bulkhead-k8s/bulkhead/components/install/scope"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// plan is one installation with everything rendered, and nothing written.
type plan struct {
	*Installer
	Options
	journal *journal.Journal
	// before is the record of the installation that is there, nil if none is.
	before *Record
	record Record
	// current is kube-apiserver's manifest as it is, wired as it shall be.
	current, wired []byte
	original       []byte
	endpoint       string
	// fromDisk is true if kube-apiserver takes webhooks from disk.
	fromDisk bool
	// What is written besides. A policy of nil leaves what is there. authorization is the
	// profile's, without the accounts that are held to their nodes.
	authorization, admission, policy        []byte
	authorizerPod, restrictionPod, certsPod []byte
	// approverPod is nil in a profile that has none.
	approverPod []byte
	// scopeSync is nil where no account is held to its node.
	scopeSync []byte
	// scopeEnds is true if accounts were held, and are no more.
	scopeEnds bool
	// kubeletClient is who kube-apiserver is to kubelets, and unserved why it cannot yet
	// demand certificates of the cluster from them.
	kubeletClient string
	unserved      error
	// nodesProxy is what the policy about nodes/proxy does.
	nodesProxy rules.Mode
	// policyKept is true if a person has edited the policy in place.
	policyKept bool
}

// newPlan reads the host and renders every file, so that what cannot work is
// refused before anything is touched.
func (in *Installer) newPlan(ctx context.Context, o Options) (*plan, error) {
	p := &plan{Installer: in, Options: o}
	var err error
	if p.before, err = ReadRecord(in.Layout); err != nil {
		return nil, err
	}
	if p.current, err = os.ReadFile(in.Layout.APIServerManifest()); err != nil {
		return nil, fmt.Errorf("reading kube-apiserver's manifest (is this a kubeadm control-plane host?): %w", err)
	}
	server, err := apiserver.Parse(p.current)
	if err != nil {
		return nil, err
	}
	if p.endpoint, err = server.Endpoint(); err != nil {
		return nil, err
	}
	version, err := in.Server.Version(ctx)
	if err != nil {
		return nil, err
	}
	p.fromDisk = server.ReadsManifests(version)
	if p.NodeScope.On && !p.fromDisk {
		return nil, fmt.Errorf(
			"--%s: this kube-apiserver (%s) takes no webhooks from disk (it does from 1.37 on, unless the feature gate "+
				"ManifestBasedAdmissionControlConfig is off), and a webhook that can be removed through the API would enforce "+
				"nothing",
			scope.Flag, version)
	}
	p.record = Record{NodeScope: p.NodeScope, Profile: p.Profile, Image: p.Image, Version: p.Version,
		Certificates: p.Certificates, Beyond: p.Beyond, KubeletAPI: p.KubeletAPI}
	if err := p.followCluster(ctx); err != nil {
		return nil, err
	}
	if p.nodesProxy, err = p.Beyond.policyMode(); err != nil {
		return nil, err
	}
	if err := p.render(server); err != nil {
		return nil, err
	}
	if err := p.planScope(); err != nil {
		return nil, err
	}
	if err := p.planKubelets(ctx, server); err != nil {
		return nil, err
	}
	return p, p.wire(server)
}

// render makes every file but kube-apiserver's manifest and what needs our CA.
func (p *plan) render(server *apiserver.Manifest) error {
	configured, err := p.planPolicy()
	if err != nil {
		return err
	}
	if p.authorization, err = render.HostFile(p.Layout, p.Profile.authorization()); err != nil {
		return err
	}
	if p.admission, err = admission(p.Layout, p.Options, p.fromDisk); err != nil {
		return err
	}
	if p.certsPod, err = certsPod(p.Layout, p.Options); err != nil {
		return err
	}
	if p.approverPod, err = approverPod(p.Layout, p.Options); err != nil {
		return err
	}
	if p.scopeSync, err = scope.SyncPod(p.Layout, p.NodeScope, p.Image); err != nil {
		return err
	}
	if p.authorizerPod, err = nodeAuthorizerPod(p.Layout, p.Options, server); err != nil {
		return err
	}
	p.restrictionPod, err = nodeRestrictionPod(p.Layout, p.Options, server, configured)
	return err
}

// wire prepares kube-apiserver's new manifest, and the one to go back to.
func (p *plan) wire(server *apiserver.Manifest) error {
	p.rememberFlags(server)
	var err error
	p.wired, err = apiserver.Wire(p.current,
		wiring(p.Layout, p.Profile, p.record.VerifyKubelets, p.authorization, p.admission), p.record.APIServer.server())
	if err != nil {
		return err
	}
	// The kubelet compares objects, not bytes: a manifest that differs in layout
	// only would not restart the server, and we would wait for nothing.
	same, err := apiserver.Equal(p.current, p.wired)
	if err != nil {
		return err
	}
	if same {
		p.wired = p.current
	}
	p.record.APIServer.Written = journal.Hash(p.wired)
	return p.findOriginal()
}

// rememberFlags records what the flags that we edit said before us. Where we have
// edited them already, only the last record knows.
func (p *plan) rememberFlags(server *apiserver.Manifest) {
	last := Edit{Modes: apiserver.KubeadmDefault.Modes, Admission: apiserver.KubeadmDefault.Before}
	if p.before != nil {
		p.record.Kubeadm, last = p.before.Kubeadm, p.before.APIServer
	}
	p.record.APIServer = Edit{Modes: server.Modes(), Admission: server.Admission()}
	if server.Wired(p.Layout.AuthorizationConfig()) {
		p.record.APIServer.Modes = last.Modes
	}
	if server.AdmissionWired(p.Layout.AdmissionConfig()) {
		p.record.APIServer.Admission = last.Admission
		// An older installer neither set the flag nor remembered it.
		if p.before != nil && !p.before.VerifyKubelets {
			p.record.APIServer.Admission.KubeletCA = server.Admission().KubeletCA
		}
	}
}

// findOriginal decides which manifest to go back to.
func (p *plan) findOriginal() error {
	unwired, err := apiserver.Unwire(p.current, unwiring(p.Layout), p.record.APIServer.server())
	if err != nil {
		return err
	}
	saved, exists, err := atomicfile.Read(p.Layout.OriginalManifest())
	if err != nil {
		return fmt.Errorf("reading the saved kube-apiserver manifest: %w", err)
	}
	switch {
	case bytes.Equal(unwired, p.current):
		p.original = p.current
	case exists && p.before != nil && !p.before.APIServer.Drifted && journal.Hash(p.current) == p.before.APIServer.Written:
		p.original = saved.Data
	default:
		// Somebody else has written it since (kubeadm upgrade does), or the record
		// or the original is lost. What was saved would be a step back by now.
		p.original, p.record.APIServer.Drifted = unwired, true
	}
	return nil
}

// write puts a file of ours in place.
func (p *plan) write(path string, data []byte, mode fs.FileMode) (bool, error) {
	file := atomicfile.Private(data)
	file.Mode = mode
	return p.journal.WriteFile(path, file)
}

// writeForComponent puts a file in place that a component reads.
func (p *plan) writeForComponent(dir, name string, data []byte) (bool, error) {
	file := atomicfile.Private(data)
	file.Mode, file.GID = 0o640, p.Layout.ComponentGID
	return p.journal.WriteFile(filepath.Join(dir, name), file)
}
