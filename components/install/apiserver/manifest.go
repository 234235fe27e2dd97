// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package apiserver edits the static-pod manifest of kube-apiserver, and undoes the edits. With the
// edits, kube-apiserver reads its authorizers and its admission webhook from files.
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
	// HashAnnotation is the SHA-256 of the authorization file. A changed file changes the manifest,
	// so the kubelet restarts the server.
	HashAnnotation = "bulkhead.dev/authorization-config-sha256"
	// AdmissionHashAnnotation is the SHA-256 of the admission file, for the same reason.
	AdmissionHashAnnotation = "bulkhead.dev/admission-config-sha256"
	// VolumeName is the name of the volume with the files for kube-apiserver.
	VolumeName = "bulkhead-apiserver"
	// DefaultModes are the authorizers that kubeadm configures.
	DefaultModes = "Node,RBAC"

	configFlag = "authorization-config"
	modeFlag   = "authorization-mode"
)

// Manifest is the static pod of a kube-apiserver.
type Manifest struct{ pod *staticpod.Pod }

// manifestFlags are the flags in a manifest. The kubelet adds no default flags to a manifest.
type manifestFlags struct{ *staticpod.Pod }

func (manifestFlags) PluginByDefault() bool { return false }

// Parse reads a manifest of kube-apiserver.
func Parse(manifest []byte) (*Manifest, error) {
	pod, err := staticpod.Parse(manifest, "kube-apiserver")
	if err != nil {
		return nil, err
	}
	return &Manifest{pod: pod}, nil
}

// Wired reports whether the server reads its authorizers from configFile.
func (m *Manifest) Wired(configFile string) bool {
	value, _ := m.pod.Arg(configFlag)
	return value == configFile
}

// AdmissionWired reports whether the server reads its admission webhook from configFile.
func (m *Manifest) AdmissionWired(configFile string) bool {
	return admissionflags.Wired(manifestFlags{m.pod}, configFile)
}

// Admission returns the state of the admission flags.
func (m *Manifest) Admission() admissionflags.Before {
	return admissionflags.Read(manifestFlags{m.pod})
}

// Arg returns the value of one flag of the server.
func (m *Manifest) Arg(name string) (string, bool) { return m.pod.Arg(name) }

// Args returns all flags of the server.
func (m *Manifest) Args() []string { return m.pod.Args() }

// HostPath returns the host's path of a file that a flag of the server names. It is empty if the file
// is not on a volume of the host.
func (m *Manifest) HostPath(file string) string { return m.pod.HostPath(file) }

// Image returns the image of the server.
func (m *Manifest) Image() string { return m.pod.Image() }

// Modes returns the value of --authorization-mode. If the flag is not set, it returns kubeadm's
// default.
func (m *Manifest) Modes() string {
	if modes, set := m.pod.Arg(modeFlag); set {
		return modes
	}
	return DefaultModes
}

// Endpoint returns the URL of this server on its own host. No other server of the cluster answers
// at this URL.
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

// Equal reports whether two manifests are the same object. It ignores their layout.
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
