// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiserverconfig "k8s.io/apiserver/pkg/apis/apiserver"

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
	return p.writeWebhooks(p.Layout.Registration(), p.registrationFile)
}

// writeWebhooks writes a file of webhooks that kube-apiserver reads from disk. render gets the CA's
// certificate.
func (p *plan) writeWebhooks(path string, render func(ca []byte) ([]byte, error)) (bool, error) {
	ca, err := os.ReadFile(p.Layout.CA().CertFile)
	if err != nil {
		return false, err
	}
	data, err := render(ca)
	if err != nil {
		return false, err
	}
	if err := apiserver.ValidateRegistration(data); err != nil {
		return false, err
	}
	return p.write(path, data, 0o600)
}

// registrationFile returns node-restriction's webhook configuration for the disk.
func (p *plan) registrationFile(ca []byte) ([]byte, error) {
	data, err := render.RegistrationFile(p.Profile.registration(), ca)
	if err != nil || !p.Extensions.failsOpen() {
		return data, err
	}
	return failOpen(data), nil
}

// failOpen changes a webhook configuration or an authorization configuration: a failed call must not
// deny. The comments of the file stay.
func failOpen(file []byte) []byte {
	for enforced, audited := range map[string]string{
		string(admissionregistrationv1.Fail): string(admissionregistrationv1.Ignore),
		apiserverconfig.FailurePolicyDeny:    apiserverconfig.FailurePolicyNoOpinion,
	} {
		file = bytes.ReplaceAll(file, []byte("failurePolicy: "+enforced+"\n"), []byte("failurePolicy: "+audited+"\n"))
	}
	return file
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
