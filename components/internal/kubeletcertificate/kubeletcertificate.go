// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubeletcertificate reads what a kubelet asks the signers of kubelet
// certificates for, and compares it with what it may have. All of it can be called
// from many goroutines.
package kubeletcertificate

import (
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	netutils "k8s.io/utils/net"

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

// MaxNames bounds the names and addresses of one request, each of which is looked up. A
// kubelet asks for as many as its Node has: two or three, or a few dozen where a cloud
// provider lists those of every network interface.
const MaxNames = 64

// SubjectAltName is the extension (RFC 5280, section 4.2.1.6).
var SubjectAltName = asn1.ObjectIdentifier{2, 5, 29, 17}

// NamesProblem says what a kubelet's serving certificate would not have
// besides names and addresses.
func NamesProblem(parsed *x509.CertificateRequest) string {
	if len(parsed.DNSNames)+len(parsed.IPAddresses) == 0 {
		return "DNS or IP subjectAltName is required"
	}
	if len(parsed.DNSNames)+len(parsed.IPAddresses) > MaxNames {
		return fmt.Sprintf("more than %d subjectAltNames are not allowed", MaxNames)
	}
	for _, extension := range parsed.Extensions {
		if !extension.Id.Equal(SubjectAltName) {
			return "extensions other than subjectAltName are not allowed"
		}
		// The kinds of names that crypto/x509 does not know it passes over, and a signer
		// may not.
		var names []asn1.RawValue
		if _, err := asn1.Unmarshal(extension.Value, &names); err != nil ||
			len(names) != len(parsed.DNSNames)+len(parsed.IPAddresses) {
			return "subjectAltNames other than DNS names and IP addresses are not allowed"
		}
	}
	return ""
}

// nodesCanHave is false for wildcards, IPs in any notation, names of the loopback, and
// names of Services, the API server's among them
// (https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/).
func nodesCanHave(name string) bool {
	if _, ip := nodeaddress.ParseIP(name); ip || !nodeaddress.Dialable(name) {
		return false
	}
	name = nodeaddress.Canonical(name)
	for _, service := range []string{"kubernetes", "kubernetes.default"} {
		if name == service {
			return false
		}
	}
	return !strings.HasSuffix(name, ".svc") && !strings.Contains(name, ".svc.")
}

// servingNames are the names and addresses that a certificate may have.
type servingNames struct{ dns, ips map[string]bool }

// namesOf takes a Node's addresses as the kubelet does (pkg/kubelet/certificate/
// kubelet.go addressesToHostnamesAndIPs): a host name may be an address.
func namesOf(addresses []corev1.NodeAddress) servingNames {
	own := servingNames{dns: map[string]bool{}, ips: map[string]bool{}}
	for _, a := range addresses {
		if a.Address == "" {
			continue
		}
		ip := netutils.ParseIPSloppy(a.Address)
		switch a.Type {
		case corev1.NodeHostName, corev1.NodeInternalIP, corev1.NodeExternalIP:
			if ip != nil {
				own.ips[ip.String()] = true
			} else if a.Type == corev1.NodeHostName {
				own.dns[a.Address] = true
			}
		case corev1.NodeInternalDNS, corev1.NodeExternalDNS:
			own.dns[a.Address] = true
		}
	}
	return own
}
