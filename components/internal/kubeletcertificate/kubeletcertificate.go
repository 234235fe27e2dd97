// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubeletcertificate reads what a kubelet asks the signers of kubelet
// certificates for, and compares it with what it may have. All of it can be called
// from many goroutines.
package kubeletcertificate

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeaddress"
	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
)

// MaxRequestBytes bounds the PEM that is read: a kubelet's has one to two thousand
// bytes. Upstream reads all that the API server takes.
const MaxRequestBytes = 64 << 10

// ParseRequest reads the first PEM block, which is the one that is signed
// (pkg/apis/certificates/helpers.go ParseCSR). It fails on another kind of block and
// on more than [MaxRequestBytes].
func ParseRequest(request []byte) (*x509.CertificateRequest, error) {
	if len(request) > MaxRequestBytes {
		return nil, fmt.Errorf("it has more than %d bytes", MaxRequestBytes)
	}
	block, _ := pem.Decode(request)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	return x509.ParseCertificateRequest(block.Bytes)
}

// SubjectProblem says what in the subject is not that of a kubelet of this node;
// empty if nothing is. Names of more kinds, or a second common name, mean different
// things to different readers.
func SubjectProblem(parsed *x509.CertificateRequest, node string) string {
	switch subject := parsed.Subject; {
	case !slices.Equal(subject.Organization, []string{user.NodesGroup}):
		return "subject organization is not system:nodes"
	case subject.CommonName != nodeidentity.Prefix+node:
		return "subject common name is not " + nodeidentity.Prefix + node
	case len(subject.Names) != 2:
		return "subject has more than an organization and a common name"
	default:
		return ""
	}
}

// UsedFor is true for what the signers of kubelet certificates demand: the purpose,
// digital signature, and perhaps key encipherment (pkg/apis/certificates/helpers.go).
func UsedFor(purpose certificatesv1.KeyUsage, usages []certificatesv1.KeyUsage) bool {
	if !slices.Contains(usages, purpose) || !slices.Contains(usages, certificatesv1.UsageDigitalSignature) {
		return false
	}
	return !slices.ContainsFunc(usages, func(u certificatesv1.KeyUsage) bool {
		return u != purpose && u != certificatesv1.UsageDigitalSignature && u != certificatesv1.UsageKeyEncipherment
	})
}

// OthersProblem names the first name or address that a Node does not have in its
// status, or that no Node can have, whatever its status says: the kubelet writes that
// itself, and the cluster's CA is whom pods trust for the API server. It is empty if
// they are all its own. [TakenProblem] asks the rest.
func OthersProblem(parsed *x509.CertificateRequest, node string, addresses []corev1.NodeAddress) string {
	own := namesOf(addresses)
	for _, name := range parsed.DNSNames {
		if !nodesCanHave(name) {
			return fmt.Sprintf("subjectAltName %.253q is no name of a node", name)
		}
		if !own.dns[name] {
			return fmt.Sprintf("subjectAltName %.253q is not a name in the status of node %q", name, node)
		}
	}
	for _, ip := range parsed.IPAddresses {
		if address, ok := netip.AddrFromSlice(ip); !ok || nodeaddress.Nobodys(address.Unmap()) {
			return fmt.Sprintf("subjectAltName %s is an address of no node", ip)
		}
		if !own.ips[ip.String()] {
			return fmt.Sprintf("subjectAltName %s is not an address in the status of node %q", ip, node)
		}
	}
	return ""
}
