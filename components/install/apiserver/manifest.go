// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package apiserver edits the static-pod manifest of kube-apiserver so that it
// takes its authorizers from a file, and takes that back.
package apiserver

import (
	"fmt"
	"net"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/bulkhead-k8s/bulkhead/components/install/staticpod"
)

const (
	// HashAnnotation holds the SHA-256 of the authorization file, so that a
	// changed file changes the manifest and the kubelet restarts the server.
	HashAnnotation = "bulkhead.dev/authorization-config-sha256"
	// VolumeName is the name of the volume with the files for kube-apiserver.
	VolumeName = "bulkhead-apiserver"
	// DefaultModes are the authorizers that kubeadm gives kube-apiserver.
	DefaultModes = "Node,RBAC"

	configFlag = "authorization-config"
	modeFlag   = "authorization-mode"
)

// legacyFlags cannot stand beside --authorization-config
// (pkg/kubeapiserver/options/authorization.go, Validate).
var legacyFlags = []string{
	"authorization-webhook-config-file",
	"authorization-webhook-version",
	"authorization-webhook-cache-authorized-ttl",
	"authorization-webhook-cache-unauthorized-ttl",
}

// Wiring is what the manifest has to say about the authorization file.
type Wiring struct {
	// Dir is the host directory that kube-apiserver sees under the same path.
	Dir string
	// ConfigFile is the AuthorizationConfiguration in Dir.
	ConfigFile string
	// ConfigHash is the SHA-256 of ConfigFile.
	ConfigHash string
}

// Manifest is the static pod of a kube-apiserver.
type Manifest struct{ pod *staticpod.Pod }

// Parse reads a manifest as kubeadm writes it.
func Parse(manifest []byte) (*Manifest, error) {
	pod, err := staticpod.Parse(manifest, "kube-apiserver")
	if err != nil {
		return nil, err
	}
	return &Manifest{pod: pod}, nil
}

// Wire returns manifest with --authorization-config in the place of
// --authorization-mode. Wiring twice is wiring once.
func Wire(manifest []byte, w Wiring) ([]byte, error) {
	m, err := Parse(manifest)
	if err != nil {
		return nil, err
	}
	for _, flag := range legacyFlags {
		m.pod.DeleteArg(flag)
	}
	m.pod.ReplaceArg(modeFlag, configFlag, w.ConfigFile)
	m.pod.MountDir(VolumeName, w.Dir)
	if err := m.pod.SetAnnotation(HashAnnotation, w.ConfigHash); err != nil {
		return nil, fmt.Errorf("annotating the kube-apiserver manifest: %w", err)
	}
	return m.pod.YAML()
}

// Unwire takes our edits back from a manifest that somebody else has changed
// since, and gives --authorization-mode the value modes. A manifest without our
// edits comes back as it is.
func Unwire(manifest []byte, w Wiring, modes string) ([]byte, error) {
	m, err := Parse(manifest)
	if err != nil {
		return nil, err
	}
	if !m.Wired(w.ConfigFile) && m.pod.Annotation(HashAnnotation) == "" {
		return manifest, nil
	}
	if m.Wired(w.ConfigFile) {
		m.pod.ReplaceArg(configFlag, modeFlag, modes)
	}
	m.pod.UnmountDir(VolumeName, w.Dir)
	if err := m.pod.SetAnnotation(HashAnnotation, ""); err != nil {
		return nil, fmt.Errorf("annotating the kube-apiserver manifest: %w", err)
	}
	return m.pod.YAML()
}

// Wired reports whether the server takes its authorizers from configFile.
func (m *Manifest) Wired(configFile string) bool {
	value, _ := m.pod.Arg(configFlag)
	return value == configFile
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
