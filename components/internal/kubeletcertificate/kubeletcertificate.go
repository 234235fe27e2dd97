// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubeletcertificate reads the certificate requests of kubelets, and compares them with
// what the signers of kubelet certificates may sign. All functions are safe for concurrent use.
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

// MaxRequestBytes bounds the PEM of a request. A kubelet's request has one to two thousand bytes.
// Upstream has no such limit besides that of the API server.
const MaxRequestBytes = 64 << 10

// ParseRequest parses the first PEM block, which is the one that the signer signs
// (pkg/apis/certificates/helpers.go ParseCSR). It returns an error for another kind of block and
// for more than [MaxRequestBytes].
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

// SubjectProblem returns a message about the first part of the subject that a kubelet of this node
// must not have, or "" if there is none. It allows no additional kinds of names and no second
// common name, because different readers interpret these differently.
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

// UsedFor reports whether usages are what the signers of kubelet certificates require: purpose,
// digital signature, optionally key encipherment, and nothing else
// (pkg/apis/certificates/helpers.go).
func UsedFor(purpose certificatesv1.KeyUsage, usages []certificatesv1.KeyUsage) bool {
	if !slices.Contains(usages, purpose) || !slices.Contains(usages, certificatesv1.UsageDigitalSignature) {
		return false
	}
	return !slices.ContainsFunc(usages, func(u certificatesv1.KeyUsage) bool {
		return u != purpose && u != certificatesv1.UsageDigitalSignature && u != certificatesv1.UsageKeyEncipherment
	})
}

// OthersProblem returns a message about the first name or address that is not in the Node's status,
// or that no Node can have. It returns "" if there is none. The status alone is no proof: the
// kubelet writes it, and pods trust the cluster's CA for the API server. [ConflictProblem] does the
// remaining checks.
func OthersProblem(parsed *x509.CertificateRequest, node string, addresses []corev1.NodeAddress) string {
	own := namesOf(addresses)
	for _, name := range parsed.DNSNames {
		if !nodesCanHave(name) {
			return fmt.Sprintf("subjectAltName %.253q is not a node name", name)
		}
		if !own.dns[name] {
			return fmt.Sprintf("subjectAltName %.253q is not a name in the status of node %q", name, node)
		}
	}
	for _, ip := range parsed.IPAddresses {
		if address, ok := netip.AddrFromSlice(ip); !ok || nodeaddress.Unowned(address.Unmap()) {
			return fmt.Sprintf("subjectAltName %s is an address of no node", ip)
		}
		if !own.ips[ip.String()] {
			return fmt.Sprintf("subjectAltName %s is not an address in the status of node %q", ip, node)
		}
	}
	return ""
}

// MaxNames bounds the names and addresses of one request, because each needs a lookup. A kubelet
// requests as many as its Node has: two or three, or a few dozen if a cloud provider lists those of
// every network interface.
const MaxNames = 64

// SubjectAltName is the OID of the subjectAltName extension (RFC 5280, section 4.2.1.6).
var SubjectAltName = asn1.ObjectIdentifier{2, 5, 29, 17}

// NamesProblem returns a message if the request has no DNS name or IP address, more than
// [MaxNames], or other names or extensions. A kubelet's serving certificate has only DNS names and
// IP addresses. It returns "" if there is no problem.
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
		// crypto/x509 ignores names of unknown kinds, but a signer may copy them to the
		// certificate.
		var names []asn1.RawValue
		if _, err := asn1.Unmarshal(extension.Value, &names); err != nil ||
			len(names) != len(parsed.DNSNames)+len(parsed.IPAddresses) {
			return "subjectAltNames other than DNS names and IP addresses are not allowed"
		}
	}
	return ""
}

// nodesCanHave returns false for wildcards, IPs in any notation, loopback names, and names of
// Services, including those of the API server
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

// servingNames are the names and addresses that a serving certificate may contain.
type servingNames struct{ dns, ips map[string]bool }

// namesOf interprets a Node's addresses as the kubelet does (pkg/kubelet/certificate/kubelet.go
// addressesToHostnamesAndIPs). A host name may be an IP address.
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
