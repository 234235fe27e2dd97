// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/bulkhead-k8s/bulkhead/components/install/admissionflags"
	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/components/install/kubeadmconfig"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
	"github.com/bulkhead-k8s/bulkhead/components/install/scope"
)

// Record is what an installation leaves for the next run to know.
type Record struct {
	Profile Profile `json:"profile"`
	Image   string  `json:"image"`
	// Version is that of the installer.
	Version string `json:"version"`
	// Certificates is the policy by which they are made.
	Certificates pki.Policy `json:"certificates"`
	// Beyond is what was decided about the rules that upstream does not have.
	Beyond Beyond `json:"beyondUpstream,omitzero"`
	// Policy is about node-restriction's file.
	Policy PolicyRecord `json:"policy,omitzero"`
	// KubeletAPI is whether the kubelets' API is to be guarded, nil if nobody has said.
	KubeletAPI *bool `json:"kubeletAPI,omitempty"`
	// VerifyKubelets is true once kube-apiserver demands serving certificates of the
	// cluster from kubelets.
	VerifyKubelets bool `json:"verifyKubelets,omitempty"`
	// NodeScope is about accounts that are held to the nodes of their pods.
	NodeScope scope.Options `json:"nodeScope,omitzero"`
	// APIServer is about the manifest of kube-apiserver.
	APIServer Edit `json:"apiServer"`
	// Kubeadm is about kubeadm's ClusterConfiguration.
	Kubeadm Edit `json:"kubeadm"`
}

// Edit is what has to be known to take an edit back.
type Edit struct {
	// Written is the SHA-256 of what we wrote. Anything else there now is
	// somebody else's work.
	Written string `json:"written,omitempty"`
	// Modes is the --authorization-mode that was there before us.
	Modes string `json:"modes,omitempty"`
	// Admission is what the flags said about admission before us.
	Admission admissionflags.Before `json:"admission,omitzero"`
	// Drifted is true once somebody else has changed what we edited: from then
	// on there are no bytes to go back to, and our edits are taken out instead.
	Drifted bool `json:"drifted,omitempty"`
}

func (e Edit) server() apiserver.Before {
	return apiserver.Before{Modes: e.Modes, Before: e.Admission}
}

func (e Edit) kubeadm() kubeadmconfig.Before {
	return kubeadmconfig.Before{Modes: e.Modes, Before: e.Admission}
}

// ReadRecord returns the record of the installation on this host, or nil.
func ReadRecord(l host.Layout) (*Record, error) {
	data, err := os.ReadFile(l.Record())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := &Record{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("reading %s: %w", l.Record(), err)
	}
	return r, nil
}

func (r Record) encode() ([]byte, error) {
	data, err := json.MarshalIndent(r, "", "  ")
	return append(data, '\n'), err
}

// Unfinished says what was being done when a run of the installer was killed,
// or is being done now; empty if nothing is.
func Unfinished(l host.Layout) (string, error) {
	j, err := journal.Open(l.Journal())
	if err != nil || j == nil {
		return "", err
	}
	return j.Operation, nil
}
