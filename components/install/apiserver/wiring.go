// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"errors"
	"fmt"

	"github.com/bulkhead-k8s/bulkhead/components/install/admissionflags"
)

// legacyFlags are invalid together with --authorization-config
// (pkg/kubeapiserver/options/authorization.go, Validate).
var legacyFlags = []string{
	"authorization-webhook-config-file",
	"authorization-webhook-version",
	"authorization-webhook-cache-authorized-ttl",
	"authorization-webhook-cache-unauthorized-ttl",
}

// Wiring is what the manifest must contain for Bulkhead's files.
type Wiring struct {
	// Dir is a host directory. kube-apiserver sees it under the same path.
	Dir string
	// ConfigFile is the path of the AuthorizationConfiguration in Dir.
	ConfigFile string
	// ConfigHash is the SHA-256 of ConfigFile.
	ConfigHash string
	// Admission describes the flags for the AdmissionConfiguration in Dir. AdmissionHash is the
	// SHA-256 of that file.
	Admission     admissionflags.Wiring
	AdmissionHash string
}

// Before is the old state of the flags that Wire edits.
type Before struct {
	// Modes is the value of --authorization-mode.
	Modes string
	admissionflags.Before
}

// KubeadmDefault is the state of these flags in kubeadm's manifest.
var KubeadmDefault = Before{Modes: DefaultModes, Before: admissionflags.Before{NodeRestriction: admissionflags.On}}

// Wire returns a manifest with --authorization-config instead of --authorization-mode, and with the
// flags of the admission webhook. If the manifest already contains Bulkhead's edits, before must be
// the state without them. A second Wire changes nothing.
func Wire(manifest []byte, w Wiring, before Before) ([]byte, error) {
	m, err := Parse(manifest)
	if err != nil {
		return nil, err
	}
	for _, flag := range legacyFlags {
		m.pod.DeleteArg(flag)
	}
	authorized := m.Wired(w.ConfigFile)
	m.pod.ReplaceArg(modeFlag, configFlag, w.ConfigFile)
	admissionflags.Unwire(manifestFlags{m.pod}, w.Admission, before.Before, authorized)
	admissionflags.Wire(manifestFlags{m.pod}, w.Admission)
	m.pod.MountDir(VolumeName, w.Dir)
	if err := m.annotate(w.ConfigHash, w.AdmissionHash); err != nil {
		return nil, err
	}
	return m.pod.YAML()
}

// Unwire undoes Wire in a manifest that other programs or users may have changed since. It restores
// the old values of the flags. It returns a manifest without Bulkhead's edits unchanged.
func Unwire(manifest []byte, w Wiring, before Before) ([]byte, error) {
	m, err := Parse(manifest)
	if err != nil {
		return nil, err
	}
	if !m.Wired(w.ConfigFile) && !m.AdmissionWired(w.Admission.ConfigFile) && !m.annotated() {
		return manifest, nil
	}
	authorized := m.Wired(w.ConfigFile)
	if authorized {
		m.pod.ReplaceArg(configFlag, modeFlag, before.Modes)
	}
	admissionflags.Unwire(manifestFlags{m.pod}, w.Admission, before.Before, authorized)
	m.pod.UnmountDir(VolumeName, w.Dir)
	if err := m.annotate("", ""); err != nil {
		return nil, err
	}
	return m.pod.YAML()
}

func (m *Manifest) annotate(authorization, admission string) error {
	err := errors.Join(m.pod.SetAnnotation(HashAnnotation, authorization),
		m.pod.SetAnnotation(AdmissionHashAnnotation, admission))
	if err != nil {
		return fmt.Errorf("annotating the kube-apiserver manifest: %w", err)
	}
	return nil
}

func (m *Manifest) annotated() bool {
	return m.pod.Annotation(HashAnnotation) != "" || m.pod.Annotation(AdmissionHashAnnotation) != ""
}
