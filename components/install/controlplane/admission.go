// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/render"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

// writeAdmission writes the files that make kube-apiserver call node-restriction. A server that
// already runs with these files reads a new registration without a restart.
func (p *plan) writeAdmission(context.Context) (changed bool, err error) {
	kubeconfig, err := render.HostFile(p.Layout, manifests.AdmissionKubeconfig)
	if err != nil {
		return false, err
	}
	if changed, err = p.write(filepath.Join(p.Layout.APIServer(), "admission.kubeconfig"), kubeconfig, 0o600); err != nil {
		return changed, err
	}
	if p.fromDisk && !p.floorReturns() {
		wrote, err := p.writeRegistration()
		changed = changed || wrote
		if err != nil {
			return changed, err
		}
	}
	if p.NodeScope.On {
		wrote, err := p.writeScopeRegistration()
		changed = changed || wrote
		if err != nil {
			return changed, err
		}
	}
	if p.readsPolicies() {
		wrote, err := p.writeKubeletPolicy()
		changed = changed || wrote
		if err != nil {
			return changed, err
		}
	}
	if err := validateAdmission(p.admission); err != nil {
		return changed, err
	}
	wrote, err := p.write(p.Layout.AdmissionConfig(), p.admission, 0o600)
	return changed || wrote, err
}

func (p *plan) writeRegistration() (bool, error) {
	ca, err := os.ReadFile(p.Layout.CA().CertFile)
	if err != nil {
		return false, err
	}
	data, err := render.RegistrationFile(p.Profile.registration(), ca)
	if err != nil {
		return false, err
	}
	if err := apiserver.ValidateRegistration(data); err != nil {
		return false, err
	}
	return p.write(p.Layout.Registration(), data, 0o600)
}

// validateAdmission validates a copy, because the loader of kube-apiserver reads only files.
func validateAdmission(config []byte) (err error) {
	file, err := os.CreateTemp("", "bulkhead-admission-*.yaml")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(file.Name())) }()
	if _, err := file.Write(config); err != nil {
		return errors.Join(err, file.Close())
	}
	if err := file.Close(); err != nil {
		return err
	}
	return apiserver.ValidateAdmission(file.Name(), host.RestrictionAddress)
}
