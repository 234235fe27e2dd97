// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// NodeRecord is what node install leaves for the next run to know.
type NodeRecord struct {
	// Version is that of the installer.
	Version string `json:"version"`
	// Certificates is the policy by which they are made.
	Certificates pki.Policy `json:"certificates"`
	// ClientCA and Serving are the files from which the proxy's copies are made.
	ClientCA string `json:"clientCA"`
	Serving  string `json:"serving"`
}

func (p *kubeletPlan) writeRecord(context.Context) (bool, error) {
	data, err := json.MarshalIndent(
		NodeRecord{Version: p.Version, Certificates: p.Certificates, ClientCA: p.setup.clientCA, Serving: p.setup.serving},
		"", "  ")
	if err != nil {
		return false, err
	}
	return p.journal.WriteFile(p.Layout.nodeRecord(), atomicfile.Private(append(data, '\n')))
}

// ReadNodeRecord returns the record of node install on this host, or nil.
func ReadNodeRecord(l Layout) (*NodeRecord, error) {
	data, err := os.ReadFile(l.nodeRecord())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := &NodeRecord{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("reading %s: %w", l.nodeRecord(), err)
	}
	return r, nil
}
