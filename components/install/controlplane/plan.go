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

// plan is one installation. newPlan renders everything and writes nothing.
type plan struct {
	*Installer
	Options
	journal *journal.Journal
	// before is the record of the current installation. It is nil if there is none.
	before *Record
	record Record
	// current is the current manifest of kube-apiserver. wired is the manifest with Bulkhead's
	// edits.
	current, wired []byte
	original       []byte
	endpoint       string
	// fromDisk is true if kube-apiserver reads webhooks from disk.
	fromDisk bool
	// These are the other files to be written. If policy is nil, the current file stays.
	// authorization is the file of the profile, without the scoped accounts.
	authorization, admission, policy        []byte
	authorizerPod, restrictionPod, certsPod []byte
	// approverPod is nil if the options do not include the approver.
	approverPod []byte
	// scopeSync is nil without node scope.
	scopeSync []byte
	// scopeEnds is true if this run switches node scope off.
	scopeEnds bool
	// kubeletClient is the user name of kube-apiserver at kubelets. unserved is why kube-apiserver
	// cannot yet require serving certificates of the cluster from them.
	kubeletClient string
	unserved      error
	// nodesProxy is the mode of the policy for nodes/proxy.
	nodesProxy rules.Mode
	// policyKept is true if a user has edited the policy in place.
	policyKept bool
}

// newPlan reads the host and renders every file. So it finds errors before anything changes.
func (in *Installer) newPlan(ctx context.Context, o Options) (*plan, error) {
	p := &plan{Installer: in, Options: o}
	err := p.checkVersions(ctx)
	if err != nil {
		return nil, err
	}
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
		Certificates: p.Certificates, Extensions: p.Extensions, KubeletAPI: p.KubeletAPI}
	p.record.AuditSince = auditSince(p.before, p.Extensions, p.Now())
	if err := p.followCluster(ctx); err != nil {
		return nil, err
	}
	if p.nodesProxy, err = p.Extensions.policyMode(); err != nil {
		return nil, err
	}
	if err := p.rememberFlags(ctx, server); err != nil {
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
	return p, p.wire()
}

// render renders all files except kube-apiserver's manifest and the files that need Bulkhead's CA.
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
	if err = p.keepPlugins(server.HostPath); err != nil {
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

// wire prepares the new manifest of kube-apiserver and the one for a rollback.
func (p *plan) wire() (err error) {
	p.wired, err = apiserver.Wire(p.current,
		wiring(p.Layout, p.record, p.authorization, p.admission), p.record.APIServer.server())
	if err != nil {
		return err
	}
	// The kubelet compares objects, not bytes. A manifest that differs only in layout would not
	// restart the server, and the installer would wait in vain.
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

// rememberFlags records the old state of the flags that Bulkhead edits. If the manifest already has
// the edits, only the last record contains the old state.
func (p *plan) rememberFlags(ctx context.Context, server *apiserver.Manifest) (err error) {
	last := Edit{Modes: apiserver.KubeadmDefault.Modes, Admission: apiserver.KubeadmDefault.Before}
	if p.before != nil {
		p.record.Kubeadm, last = p.before.Kubeadm, p.before.APIServer
	}
	p.record.APIServer = Edit{Modes: server.Modes(), Admission: server.Admission()}
	wired := server.Wired(p.Layout.AuthorizationConfig())
	if wired {
		p.record.APIServer.Modes = last.Modes
	}
	file, _ := server.Arg("admission-control-config-file")
	switch {
	case server.AdmissionWired(p.Layout.AdmissionConfig()):
		p.record.APIServer.Admission = last.Admission
		switch {
		case p.before == nil:
			p.record.APIServer.Admission.ConfigFile, err = p.lostConfigFile(ctx)
		case last.Admission.ConfigFile == "":
			// An older installer did not record it.
			_, p.record.APIServer.Admission.ConfigFile, err = p.savedConfigFile()
		}
		// An older installer neither set nor recorded this flag.
		if p.before != nil && !p.before.VerifyKubelets {
			p.record.APIServer.Admission.KubeletCA = server.Admission().KubeletCA
		}
	case wired && file != "":
		// A user has replaced only the name of Bulkhead's file. The other flags are Bulkhead's.
		p.record.APIServer.Admission = last.Admission
		p.record.APIServer.Admission.ConfigFile = file
	}
	return err
}

// findOriginal finds the manifest to restore in an uninstallation.
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
		// Another program has written the manifest since (kubeadm upgrade does), or the record or
		// the original is lost. The saved manifest would be out of date.
		p.original, p.record.APIServer.Drifted = unwired, true
	}
	return nil
}

// write writes one of Bulkhead's files.
func (p *plan) write(path string, data []byte, mode fs.FileMode) (bool, error) {
	file := atomicfile.Private(data)
	file.Mode = mode
	return p.journal.WriteFile(path, file)
}

// writeForComponent writes a file that a component reads.
func (p *plan) writeForComponent(dir, name string, data []byte) (bool, error) {
	file := atomicfile.Private(data)
	file.Mode, file.GID = 0o640, p.Layout.ComponentGID
	return p.journal.WriteFile(filepath.Join(dir, name), file)
}
