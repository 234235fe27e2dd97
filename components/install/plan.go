// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/hostfs"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
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
	authorization  []byte
	componentPod   []byte
	certsPod       []byte
}

// newPlan reads the host and renders every file, so that what cannot work is
// refused before anything is touched.
func (in *Installer) newPlan(o Options) (*plan, error) {
	p := &plan{Installer: in, Options: o}
	var err error
	if p.before, err = ReadRecord(in.Layout); err != nil {
		return nil, err
	}
	if p.authorization, err = in.Layout.hostFile(o.Profile.authorization()); err != nil {
		return nil, err
	}
	if p.componentPod, err = in.Layout.nodeAuthorizerPod(o); err != nil {
		return nil, err
	}
	if p.certsPod, err = in.Layout.certsPod(o); err != nil {
		return nil, err
	}
	return p, p.readManifest()
}

// readManifest reads kube-apiserver's manifest and prepares the new one.
func (p *plan) readManifest() error {
	var err error
	if p.current, err = os.ReadFile(p.Layout.APIServerManifest()); err != nil {
		return fmt.Errorf("reading kube-apiserver's manifest (is this a kubeadm control-plane host?): %w", err)
	}
	manifest, err := apiserver.Parse(p.current)
	if err != nil {
		return err
	}
	if p.endpoint, err = manifest.Endpoint(); err != nil {
		return err
	}
	p.wired, err = apiserver.Wire(p.current, p.Layout.wiring(hash(p.authorization)))
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
	return p.newRecord(manifest)
}

// newRecord prepares what the next run has to know, and the manifest to go back to.
func (p *plan) newRecord(manifest *apiserver.Manifest) error {
	p.record = Record{Profile: p.Profile, Image: p.Image, Version: p.Version}
	p.record.Validity.Duration, p.record.RenewBefore.Duration = p.Certificates.Validity, p.Certificates.RenewBefore
	p.record.APIServer = Edit{Written: hash(p.wired), Modes: manifest.Modes()}
	if p.before == nil {
		// Wired without a record: the record was lost, and the original with it.
		p.record.APIServer.Drifted = manifest.Wired(p.Layout.AuthorizationConfig())
		p.original = p.current
		return nil
	}
	var err error
	if p.original, err = os.ReadFile(p.Layout.originalManifest()); err != nil {
		return fmt.Errorf("reading the saved kube-apiserver manifest: %w", err)
	}
	was := p.before.APIServer
	p.record.Kubeadm = p.before.Kubeadm
	p.record.APIServer.Modes = was.Modes
	p.record.APIServer.Drifted = was.Drifted || hash(p.current) != was.Written && string(p.current) != string(p.original)
	return nil
}

// write puts a file of ours in place.
func (p *plan) write(path string, data []byte, mode fs.FileMode) (bool, error) {
	file := hostfs.Private(data)
	file.Mode = mode
	return p.journal.WriteFile(path, file)
}

// writeForComponent puts a file in place that the node authorizer reads.
func (p *plan) writeForComponent(name string, data []byte) (bool, error) {
	file := hostfs.Private(data)
	file.Mode, file.GID = 0o640, p.Layout.ComponentGID
	return p.journal.WriteFile(filepath.Join(p.Layout.NodeAuthorizer(), name), file)
}
