// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletcertificate

import (
	"crypto/x509"
	"encoding/asn1"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	netutils "k8s.io/utils/net"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeaddress"
)

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
