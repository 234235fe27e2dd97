// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/admissionflags"
	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/components/install/kubeadmconfig"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
	"github.com/bulkhead-k8s/bulkhead/components/install/scope"
)

// Record is what an installation saves for the next run.
type Record struct {
	Profile Profile `json:"profile"`
	Image   string  `json:"image"`
	// Version is the version of the installer.
	Version string `json:"version"`
	// Certificates is the policy for the certificates.
	Certificates pki.Policy `json:"certificates"`
	// Extensions has the user's settings for the rules that upstream does not have.
	Extensions Extensions `json:"beyondUpstream,omitzero"`
	// AuditSince is when each setting that only audits was installed first, by its flag.
	AuditSince map[string]time.Time `json:"auditSince,omitempty"`
	// Policy describes node-restriction's configuration file.
	Policy PolicyRecord `json:"policy,omitzero"`
	// KubeletAPI is true if the kubelets' API is to be protected. It is nil if the user has never
	// set it.
	KubeletAPI *bool `json:"kubeletAPI,omitempty"`
	// VerifyKubelets is true once kube-apiserver requires serving certificates of the cluster from
	// kubelets.
	VerifyKubelets bool `json:"verifyKubelets,omitempty"`
	// NodeScope has the settings for node scope.
	NodeScope scope.Options `json:"nodeScope,omitzero"`
	// AdmissionSource is the SHA-256 of the other AdmissionConfiguration whose plugins Bulkhead's file
	// keeps. It is empty if there is none.
	AdmissionSource string `json:"admissionSource,omitempty"`
	// APIServer describes the edit of kube-apiserver's manifest.
	APIServer Edit `json:"apiServer"`
	// Kubeadm describes the edit of kubeadm's ClusterConfiguration.
	Kubeadm Edit `json:"kubeadm"`
}

// OtherAdmission returns the AdmissionConfiguration whose plugins Bulkhead's file keeps. It is empty if
// there is none, or no installation.
func (r *Record) OtherAdmission() string {
	if r == nil {
		return ""
	}
	return r.APIServer.Admission.ConfigFile
}

// Edit has the data that is needed to undo an edit.
type Edit struct {
	// Written is the SHA-256 of what Bulkhead wrote. Any other content is a later change by another
	// program or user.
	Written string `json:"written,omitempty"`
	// Modes is the value of --authorization-mode before the installation.
	Modes string `json:"modes,omitempty"`
	// Admission is the state of the admission flags before the installation.
	Admission admissionflags.Before `json:"admission,omitzero"`
	// Drifted is true once another program or user has changed the edited file. Then the saved
	// bytes are out of date, so an uninstallation removes Bulkhead's edits from the current file.
	Drifted bool `json:"drifted,omitempty"`
}

func (e Edit) server() apiserver.Before {
	return apiserver.Before{Modes: e.Modes, Before: e.Admission}
}

func (e Edit) kubeadm() kubeadmconfig.Before {
	return kubeadmconfig.Before{Modes: e.Modes, Before: e.Admission}
}

// ReadRecord returns the record of the installation on this host, or nil if there is none.
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
		return nil, fmt.Errorf("cannot read the record of the installation in %s: %w. Move the file away, and run "+
			"bulkhead install with all settings again", l.Record(), err)
	}
	return r, nil
}

func (r Record) encode() ([]byte, error) {
	data, err := json.MarshalIndent(r, "", "  ")
	return append(data, '\n'), err
}

// Unfinished returns the operation of an installer run that was killed or is still running. It is
// empty if there is none.
func Unfinished(l host.Layout) (string, error) {
	j, err := journal.Open(l.Journal())
	if err != nil {
		return "", fmt.Errorf("%w. Run `bulkhead uninstall`: it says what to do", err)
	}
	if j == nil {
		return "", nil
	}
	return j.Operation, nil
}
