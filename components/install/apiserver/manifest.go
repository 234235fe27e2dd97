// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package apiserver edits the static-pod manifest of kube-apiserver so that it
// takes its authorizers and its admission webhook from files, and takes that back.
package apiserver

import (
	"fmt"
	"net"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/bulkhead-k8s/bulkhead/components/install/admissionflags"
	"github.com/bulkhead-k8s/bulkhead/components/install/staticpod"
)

const (
	// HashAnnotation holds the SHA-256 of the authorization file, so that a
	// changed file changes the manifest and the kubelet restarts the server.
	HashAnnotation = "bulkhead.dev/authorization-config-sha256"
	// AdmissionHashAnnotation is the same for the admission file.
	AdmissionHashAnnotation = "bulkhead.dev/admission-config-sha256"
	// VolumeName is the name of the volume with the files for kube-apiserver.
	VolumeName = "bulkhead-apiserver"
	// DefaultModes are the authorizers that kubeadm gives kube-apiserver.
	DefaultModes = "Node,RBAC"

	configFlag = "authorization-config"
	modeFlag   = "authorization-mode"
)

// Manifest is the static pod of a kube-apiserver.
type Manifest struct{ pod *staticpod.Pod }

// manifestFlags are the flags in a manifest, to which nobody adds any.
type manifestFlags struct{ *staticpod.Pod }

func (manifestFlags) PluginByDefault() bool { return false }

// Parse reads a manifest as kubeadm writes it.
func Parse(manifest []byte) (*Manifest, error) {
	pod, err := staticpod.Parse(manifest, "kube-apiserver")
	if err != nil {
		return nil, err
	}
	return &Manifest{pod: pod}, nil
}

// Wired reports whether the server takes its authorizers from configFile.
func (m *Manifest) Wired(configFile string) bool {
	value, _ := m.pod.Arg(configFlag)
	return value == configFile
}

// AdmissionWired reports whether the server takes its admission webhook from
// configFile.
func (m *Manifest) AdmissionWired(configFile string) bool {
	return admissionflags.Wired(manifestFlags{m.pod}, configFile)
}

// Admission is what the flags say about admission.
func (m *Manifest) Admission() admissionflags.Before {
	return admissionflags.Read(manifestFlags{m.pod})
}

// Arg returns the value of one flag of the server.
func (m *Manifest) Arg(name string) (string, bool) { return m.pod.Arg(name) }

// Args are all flags of the server.
func (m *Manifest) Args() []string { return m.pod.Args() }

// Image is the server's image.
func (m *Manifest) Image() string { return m.pod.Image() }

// Modes are the authorizers named by --authorization-mode; without it, what
// kubeadm would have written.
func (m *Manifest) Modes() string {
	if modes, set := m.pod.Arg(modeFlag); set {
		return modes
	}
	return DefaultModes
}

// Endpoint is the URL under which this very server, and no other of the
// cluster, is reached from its own host.
func (m *Manifest) Endpoint() (string, error) {
	address, set := m.pod.Arg("advertise-address")
	if !set || address == "" {
		return "", fmt.Errorf("kube-apiserver manifest: it has no --advertise-address")
	}
	port, set := m.pod.Arg("secure-port")
	if !set {
		port = "6443"
	}
	return "https://" + net.JoinHostPort(strings.Trim(address, "[]"), port), nil
}

// Equal reports whether two manifests are one object, whatever their layout.
func Equal(a, b []byte) (bool, error) {
	left, err := Parse(a)
	if err != nil {
		return false, err
	}
	right, err := Parse(b)
	if err != nil {
		return false, err
	}
	return equality.Semantic.DeepEqual(left.pod.Object(), right.pod.Object()), nil
}
