// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"errors"
	"fmt"

	"github.com/bulkhead-k8s/bulkhead/components/install/admissionflags"
)

// legacyFlags cannot stand beside --authorization-config
// (pkg/kubeapiserver/options/authorization.go, Validate).
var legacyFlags = []string{
	"authorization-webhook-config-file",
	"authorization-webhook-version",
	"authorization-webhook-cache-authorized-ttl",
	"authorization-webhook-cache-unauthorized-ttl",
}

// Wiring is what the manifest has to say about our files.
type Wiring struct {
	// Dir is the host directory that kube-apiserver sees under the same path.
	Dir string
	// ConfigFile is the AuthorizationConfiguration in Dir.
	ConfigFile string
	// ConfigHash is the SHA-256 of ConfigFile.
	ConfigHash string
	// Admission is about the AdmissionConfiguration in Dir, and AdmissionHash is the
	// SHA-256 of that.
	Admission     admissionflags.Wiring
	AdmissionHash string
}

// Before is what a manifest said about what we edit.
type Before struct {
	// Modes is the value of --authorization-mode.
	Modes string
	admissionflags.Before
}

// KubeadmDefault is what kubeadm's own manifest says.
var KubeadmDefault = Before{Modes: DefaultModes, Before: admissionflags.Before{NodeRestriction: admissionflags.On}}

// Wire returns a manifest with --authorization-config in the place of
// --authorization-mode, and with our admission webhook. before is what the manifest
// said before us, if it has our edits already: wiring twice is wiring once.
func Wire(manifest []byte, w Wiring, before Before) ([]byte, error) {
	m, err := Parse(manifest)
	if err != nil {
		return nil, err
	}
	for _, flag := range legacyFlags {
		m.pod.DeleteArg(flag)
	}
	m.pod.ReplaceArg(modeFlag, configFlag, w.ConfigFile)
	admissionflags.Unwire(manifestFlags{m.pod}, w.Admission, before.Before)
	admissionflags.Wire(manifestFlags{m.pod}, w.Admission)
	m.pod.MountDir(VolumeName, w.Dir)
	if err := m.annotate(w.ConfigHash, w.AdmissionHash); err != nil {
		return nil, err
	}
	return m.pod.YAML()
}

// Unwire takes our edits back from a manifest that somebody else has changed
// since, and gives the flags that we edited what they were before. A manifest
// without our edits comes back as it is.
func Unwire(manifest []byte, w Wiring, before Before) ([]byte, error) {
	m, err := Parse(manifest)
	if err != nil {
		return nil, err
	}
	if !m.Wired(w.ConfigFile) && !m.AdmissionWired(w.Admission.ConfigFile) && !m.annotated() {
		return manifest, nil
	}
	if m.Wired(w.ConfigFile) {
		m.pod.ReplaceArg(configFlag, modeFlag, before.Modes)
	}
	admissionflags.Unwire(manifestFlags{m.pod}, w.Admission, before.Before)
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
