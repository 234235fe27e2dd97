// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
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
	if p.componentPod, err = p.Layout.nodeAuthorizerPod(p.Options, gatesOf(manifest)); err != nil {
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
	p.record = Record{Profile: p.Profile, Image: p.Image, Version: p.Version, Certificates: p.Certificates}
	p.record.APIServer = Edit{Written: hash(p.wired), Modes: manifest.Modes()}
	if p.before != nil {
		p.record.Kubeadm = p.before.Kubeadm
	}
	if p.before != nil && manifest.Wired(p.Layout.AuthorizationConfig()) {
		p.record.APIServer.Modes = p.before.APIServer.Modes
	}
	unwired, err := apiserver.Unwire(p.current, p.Layout.wiring(""), p.record.APIServer.Modes)
	if err != nil {
		return err
	}
	saved, exists, err := hostfs.Read(p.Layout.originalManifest())
	if err != nil {
		return fmt.Errorf("reading the saved kube-apiserver manifest: %w", err)
	}
	switch {
	case bytes.Equal(unwired, p.current):
		p.original = p.current
	case exists && p.before != nil && !p.before.APIServer.Drifted && hash(p.current) == p.before.APIServer.Written:
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
