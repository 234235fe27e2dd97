// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package hosts describes what the control-plane hosts of a cluster share: the ConfigMap with an
// entry for each host, the lock for all installers, and the comparison of their versions.
package hosts

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	sigsjson "sigs.k8s.io/json"
)

// The modes of an installation.
const (
	Enforce = "enforce"
	Audit   = "audit"
)

// maxEntry bounds the size of one entry. An entry has some hundred bytes.
const maxEntry = 16 << 10

// Host describes the installation on one control-plane host.
type Host struct {
	// Version is the version of the program that installed this host last.
	Version string `json:"version"`
	// Committed is the time of the commit that this program was built from, in RFC 3339. It orders
	// versions that are no releases. It is empty if the program does not know it, or did not write it.
	Committed string `json:"committed,omitempty"`
	// Profile is hardened or parity.
	Profile string `json:"profile"`
	// Mode is Enforce or Audit.
	Mode string `json:"mode"`
	// Image is the image of the components.
	Image string `json:"image"`
	// ConfigHash is the SHA-256 of what `bulkhead status -o yaml` prints on this host. Hosts with
	// equal settings have equal hashes.
	ConfigHash string `json:"configHash"`
	// Modes are the modes of the optional rules, as `bulkhead status` prints them.
	Modes string `json:"modes"`
	// Wiring is the SHA-256 of Bulkhead's flags and files in kube-apiserver's configuration by
	// kubeadm. Hosts with equal wiring can share the ConfigMap kubeadm-config.
	Wiring string `json:"wiring"`
	// VerifyKubelets is true if kube-apiserver requires serving certificates of the cluster from
	// kubelets.
	VerifyKubelets bool `json:"verifyKubelets"`
	// AdmissionConfig is the AdmissionConfiguration that kube-apiserver had before Bulkhead, and whose
	// plugins Bulkhead's file keeps. A host that joins later gets Bulkhead's flags from kubeadm,
	// and this entry is its only source for the path.
	AdmissionConfig string `json:"admissionConfig,omitempty"`
	// AuditSince is when each setting that only audits was installed, by its flag, as in
	// --mode=audit. An older version did not write it.
	AuditSince map[string]metav1.Time `json:"auditSince,omitempty"`
	// AuditFor is how long these settings are to last. It is nil if the user has not set it.
	AuditFor *metav1.Duration `json:"auditFor,omitempty"`
}

// Encode returns the value of an entry.
func (h Host) Encode() (string, error) {
	data, err := json.Marshal(h)
	return string(data), err
}

// Parse reads the entries of all hosts, by node name. An entry that cannot be read is in the second
// map, with the reason. So the state of that host is unknown, but the host has an entry. Unknown
// fields are ignored: a newer version may have added them.
func Parse(data map[string]string) (map[string]Host, map[string]error) {
	known, unknown := map[string]Host{}, map[string]error{}
	for node, value := range data {
		h, err := parseHost(value)
		if err != nil {
			unknown[node] = fmt.Errorf("cannot read the entry of host %s: %w", node, err)
			continue
		}
		known[node] = h
	}
	return known, unknown
}

func parseHost(value string) (Host, error) {
	var h Host
	if len(value) > maxEntry {
		return h, fmt.Errorf("it has %d bytes, at most %d are allowed", len(value), maxEntry)
	}
	// A field with another case is not this field. The standard library would accept it.
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts([]byte(value), &h); err != nil {
		return h, err
	}
	return h, h.validate()
}

// validate rejects text that would change the output of a terminal.
func (h Host) validate() error {
	for _, field := range []struct{ name, value string }{
		{"version", h.Version}, {"profile", h.Profile}, {"mode", h.Mode}, {"image", h.Image},
		{"configHash", h.ConfigHash}, {"modes", h.Modes}, {"wiring", h.Wiring},
	} {
		if field.value == "" {
			return errors.New("the field " + field.name + " is absent or empty")
		}
		if strings.ContainsFunc(field.value, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return errors.New("the field " + field.name + " has characters that cannot be printed")
		}
	}
	if strings.ContainsFunc(h.AdmissionConfig, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return errors.New("the field admissionConfig has characters that cannot be printed")
	}
	if file := h.AdmissionConfig; file != "" && (!path.IsAbs(file) || path.Clean(file) != file) {
		return fmt.Errorf("the field admissionConfig is %q, want an absolute path in its shortest form", file)
	}
	if _, err := time.Parse(time.RFC3339, h.Committed); h.Committed != "" && err != nil {
		return fmt.Errorf("the field committed is %q, want a time in RFC 3339", h.Committed)
	}
	for setting := range h.AuditSince {
		if strings.ContainsFunc(setting, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return errors.New("the field auditSince has characters that cannot be printed")
		}
	}
	if h.Mode != Enforce && h.Mode != Audit {
		return fmt.Errorf("the field mode is %q, want %s or %s", h.Mode, Enforce, Audit)
	}
	return nil
}
