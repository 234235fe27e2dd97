// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/util/cert"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// LoopbackClients decides whether clients on a node, other than the proxy, may use the kubelet's
// API on 127.0.0.1. A node has LoopbackDeny or LoopbackAllow. It is a flag value (pflag.Value).
type LoopbackClients string

const (
	// LoopbackDeny makes the kubelet accept only the proxy's certificate.
	LoopbackDeny LoopbackClients = "deny"
	// LoopbackAllow leaves authentication and authorization as the node's own configuration has
	// them.
	LoopbackAllow LoopbackClients = "allow"
	// LoopbackCluster applies the value of the cluster. Only the flag can have it.
	LoopbackCluster LoopbackClients = "cluster"
)

// Set parses a value of the flag.
func (c *LoopbackClients) Set(text string) error {
	value := LoopbackClients(text)
	if value != LoopbackCluster && value.Validate() != nil {
		return fmt.Errorf("invalid value %q for loopback clients: use %s, %s or %s", text, LoopbackDeny, LoopbackAllow,
			LoopbackCluster)
	}
	*c = value
	return nil
}

func (c LoopbackClients) String() string { return string(c) }

// Type is the name of the type in the help of the flag.
func (LoopbackClients) Type() string { return "string" }

// Validate accepts the values that a node and a cluster can have.
func (c LoopbackClients) Validate() error {
	if c != LoopbackDeny && c != LoopbackAllow {
		return fmt.Errorf("invalid value %q for loopback clients: use %s or %s", string(c), LoopbackDeny, LoopbackAllow)
	}
	return nil
}

// Description says what the setting means for the clients on a node.
func (c LoopbackClients) Description() string {
	if c == LoopbackAllow {
		return "clients on this node, also pods with hostNetwork, reach the kubelet's API on 127.0.0.1 without " +
			"Bulkhead's rules; only the kubelet's own authentication and authorization limit them"
	}
	return "the kubelet accepts only the certificate of its proxy"
}

// clientCAFile is the kubelet's clientCAFile with this setting.
func (c LoopbackClients) clientCAFile(l host.Layout) string {
	if c == LoopbackAllow {
		return bundleFile(l)
	}
	return l.KubeletClientCA()
}

// dropIn is the template of the kubelet's configuration drop-in with this setting.
func (c LoopbackClients) dropIn() string {
	if c == LoopbackAllow {
		return kubeletDropInAllow
	}
	return kubeletDropIn
}

// loopbackClients returns the setting in the record of this node. Without a record, or with a
// record of an older version, it is LoopbackDeny.
func (k *Installer) loopbackClients() (LoopbackClients, error) {
	record, err := ReadRecord(k.Layout)
	if err != nil || record == nil {
		return LoopbackDeny, err
	}
	return record.LoopbackClients, nil
}

// bundleName is the name of the bundle in the output of a renewal.
const bundleName = "kubelet-client-ca-bundle"

// bundleFile is the kubelet's clientCAFile with LoopbackAllow. A kubelet has one clientCAFile, so
// this file has the certificates of two: the file with the proxy's certificate, and the file that
// the node's own configuration names.
func bundleFile(l host.Layout) string { return filepath.Join(l.Node(), bundleName+".crt") }

// keepBundle updates the bundle, and reports whether it wrote. Without a bundle, it does
// nothing unless create is true. The kubelet reads a changed bundle without a restart, as it reads
// the file with the proxy's certificate ([Installer.renewClient]).
//
// The second source is the proxy's copy of the cluster's client CA. So the kubelet and its proxy
// always know the same client CA, also after a rollback.
func (k *Installer) keepBundle(create bool) (wrote bool, err error) {
	file := bundleFile(k.Layout)
	have, exists, err := atomicfile.Read(file)
	if err != nil || !exists && !create {
		return false, err
	}
	data, err := joinCertificates(k.Layout.KubeletClientCA(), k.proxyClientCA())
	if err != nil {
		return false, fmt.Errorf("cannot update the kubelet's clientCAFile %s: %w", file, err)
	}
	want := atomicfile.Private(data)
	if exists && atomicfile.Same(have, want) {
		return false, nil
	}
	return true, atomicfile.Write(file, want, "")
}

// joinCertificates returns the certificates of all files, and nothing else in them. It fails if the
// kubelet would reject one of the files: the kubelet does not start with a bundle that it cannot
// read.
func joinCertificates(files ...string) ([]byte, error) {
	var all []*x509.Certificate
	for _, file := range files {
		certificates, err := readCertificates(file)
		if err != nil {
			return nil, err
		}
		all = append(all, certificates...)
	}
	return cert.EncodeCertificates(all...)
}

func readCertificates(file string) ([]*x509.Certificate, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	certificates, err := cert.ParseCertsPEM(data)
	if err != nil {
		return nil, fmt.Errorf("reading the certificates in %s: %w", file, err)
	}
	return certificates, nil
}
