// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"net"
	"net/url"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/internal/kubeletcertificate"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// addressed returns a cluster in which the Node me has addresses of every type.
func addressed() *fakeCluster {
	c := aCluster()
	c.nodes["me"].Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeHostName, Address: "me"},
		{Type: corev1.NodeHostName, Address: "192.0.2.9"},
		{Type: corev1.NodeInternalIP, Address: "10.0.0.1"},
		{Type: corev1.NodeExternalIP, Address: "2001:db8::1"},
		{Type: corev1.NodeInternalDNS, Address: "me.internal"},
		{Type: corev1.NodeExternalDNS, Address: "me.example"},
		{Type: corev1.NodeInternalIP, Address: "not-an-ip"},
		{Type: corev1.NodeInternalDNS, Address: ""},
		{Type: "Other", Address: "elsewhere"},
	}
	c.nodes["other"].Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.2"},
		{Type: corev1.NodeHostName, Address: "other"}}
	return c
}

type x509Template = x509.CertificateRequest

// serving returns a kubelet's request for a name and an address.
func serving(t testing.TB, edits ...func(*x509Template)) []byte {
	t.Helper()
	return signed(t, append([]func(*x509Template){func(r *x509Template) {
		r.DNSNames, r.IPAddresses = []string{"me"}, []net.IP{net.ParseIP("10.0.0.1")}
	}}, edits...)...)
}

func sanDNS(names ...string) func(*x509Template) { return func(r *x509Template) { r.DNSNames = names } }

func sanIPs(addresses ...string) func(*x509Template) {
	return func(r *x509Template) {
		r.IPAddresses = nil
		for _, a := range addresses {
			r.IPAddresses = append(r.IPAddresses, net.ParseIP(a))
		}
	}
}

func TestServingCertificateNames(t *testing.T) {
	const name, address = " is not a name in the status of node \"me\" [NR-CSR-2]",
		" is not an address in the status of node \"me\" [NR-CSR-2]"
	const noNode = " is not a node name [NR-CSR-2]"
	refused := func(what, says string, edits ...func(*x509Template)) row {
		return row{name: what + " is refused", write: signs(servingSigner, serving(t, edits...)), by: "NR-CSR-2",
			says: deniedSigning + says}
	}
	admitted := func(what string, edits ...func(*x509Template)) row {
		return row{name: what + " is admitted", write: signs(servingSigner, serving(t, edits...))}
	}
	run(t, restrict(addressed(), enforce("NR-CSR-2")), []row{
		admitted("a name and an address of its own"),
		admitted("every one that it has", sanDNS("me", "me.internal", "me.example"),
			sanIPs("192.0.2.9", "10.0.0.1", "2001:db8::1")),
		admitted("addresses alone", sanDNS()),
		admitted("names alone", sanIPs()),
		admitted("an address in its long form", sanIPs("2001:db8:0:0:0:0:0:1")),
		refused("another node's name", `subjectAltName "other"`+name, sanDNS("me", "other")),
		refused("the API server's name", `subjectAltName "kubernetes.default.svc"`+noNode, sanDNS("kubernetes.default.svc")),
		refused("a wildcard", `subjectAltName "*.internal"`+noNode, sanDNS("*.internal")),
		refused("what only begins like its name", `subjectAltName "me.exampl"`+name, sanDNS("me.exampl")),
		refused("an empty name", `subjectAltName ""`+noNode, sanDNS("")),
		refused("an address that is no IP", `subjectAltName "not-an-ip"`+name, sanDNS("not-an-ip")),
		refused("an address of another type", `subjectAltName "elsewhere"`+name, sanDNS("elsewhere")),
		refused("an address as a name", `subjectAltName "10.0.0.1"`+noNode, sanDNS("10.0.0.1")),
		refused("another node's address", `subjectAltName 10.0.0.2`+address, sanIPs("10.0.0.1", "10.0.0.2")),
		refused("neither name nor address", "DNS or IP subjectAltName is required [NR-CSR-2]", sanDNS(), sanIPs()),
	})
}

const (
	onlyNames = deniedSigning + "subjectAltNames other than DNS names and IP addresses are not allowed [NR-CSR-2]"
	onlySAN   = deniedSigning + "extensions other than subjectAltName are not allowed [NR-CSR-2]"
)

// otherNames returns an extension with the name me, and with a name of a kind that crypto/x509 does
// not parse.
func otherNames(t *testing.T) pkix.Extension {
	t.Helper()
	names, err := asn1.Marshal([]asn1.RawValue{
		{Class: asn1.ClassContextSpecific, Tag: 2, Bytes: []byte("me")},
		{Class: asn1.ClassContextSpecific, Tag: 8, Bytes: []byte{42, 3}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return pkix.Extension{Id: kubeletcertificate.SubjectAltName, Value: names}
}

func TestServingCertificatesHaveNothingElse(t *testing.T) {
	link, err := url.Parse("spiffe://example/admin")
	if err != nil {
		t.Fatal(err)
	}
	authority := pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Value: []byte{0x30, 3, 1, 1, 0xff}}
	run(t, restrict(addressed(), enforce("NR-CSR-2")), []row{
		{name: "mail address: denied",
			write: signs(servingSigner, serving(t, func(r *x509Template) { r.EmailAddresses = []string{"a@b"} })),
			by:    "NR-CSR-2", says: onlyNames},
		{name: "URI: denied",
			write: signs(servingSigner, serving(t, func(r *x509Template) { r.URIs = []*url.URL{link} })), by: "NR-CSR-2",
			says: onlyNames},
		{name: "name of another type: denied",
			write: signs(servingSigner,
				serving(t, func(r *x509Template) { r.ExtraExtensions = []pkix.Extension{otherNames(t)} })), by: "NR-CSR-2",
			says: onlyNames},
		{name: "CA certificate: denied",
			write: signs(servingSigner, serving(t, func(r *x509Template) { r.ExtraExtensions = []pkix.Extension{authority} })),
			by:    "NR-CSR-2", says: onlySAN},
		{name: "none of these extensions: allowed", write: signs(servingSigner, serving(t))},
	})
}

func TestServingCertificatesNeedTheNode(t *testing.T) {
	request := signs(servingSigner, serving(t))
	c := addressed()
	delete(c.nodes, "me")
	run(t, restrict(c, enforce("NR-CSR-2")), []row{
		{name: "serving certificate before the Node exists: denied", write: request, by: "NR-CSR-2",
			says: deniedSigning +
				`node "me" is not registered yet, ` +
				`and can have a serving certificate once its addresses are in the status of its Node [NR-CSR-2]`},
	})
	run(t, restrict(c), []row{{name: "rule off, serving certificate before the Node exists: allowed", write: request}})
	c.err = errors.New("timeout")
	run(t, restrict(c, enforce("NR-CSR-2")), []row{
		{name: "failed lookup of the Node: denied, may be retried",
			write: request, by: "NR-CSR-2", code: 500, says: "timeout [NR-CSR-2]"},
	})
	auditedOnly(t, restrict(c, inMode(rules.Audit, "NR-CSR-2")), request, "NR-CSR-2")
}

func TestClientCertificates(t *testing.T) {
	c := aCluster()
	delete(c.nodes, "me")
	const none = deniedSigning + "subjectAltNames and other extensions are not allowed [NR-CSR-3]"
	run(t, restrict(c, enforce("NR-CSR-3")), []row{
		{name: "kubelet's client certificate before the Node exists: allowed", write: signs(clientSigner, signed(t))},
		{name: "client certificate with a DNS name: denied",
			write: signs(clientSigner, signed(t, sanDNS("me"))), by: "NR-CSR-3", says: none},
		{name: "client certificate with an IP address: denied",
			write: signs(clientSigner, signed(t, sanIPs("10.0.0.1"))), by: "NR-CSR-3",
			says: none},
		{name: "client certificate with a mail address: denied",
			write: signs(clientSigner, signed(t, func(r *x509Template) { r.EmailAddresses = []string{"a@b"} })), by: "NR-CSR-3",
			says: none},
	})
	named := signs(clientSigner, signed(t, sanDNS("me")))
	run(t, restrict(c), []row{{name: "rule off, client certificate with a DNS name: allowed", write: named}})
	auditedOnly(t, restrict(c, inMode(rules.Audit, "NR-CSR-3")), named, "NR-CSR-3")
}

// TestKubeletCertificateSubjects checks both signers.
func TestKubeletCertificateSubjects(t *testing.T) {
	subject := func(edit func(*pkix.Name)) func(*x509Template) { return func(r *x509Template) { edit(&r.Subject) } }
	twice, err := asn1.Marshal(
		append(pkix.Name{CommonName: "system:node:other", Organization: []string{"system:nodes"}}.ToRDNSequence(),
			pkix.RelativeDistinguishedNameSET{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: "system:node:me"}}))
	if err != nil {
		t.Fatal(err)
	}
	for signer, by := range map[string]rules.ID{servingSigner: "NR-CSR-2", clientSigner: "NR-CSR-3"} {
		request := signed
		if signer == servingSigner {
			request = serving
		}
		id := " [" + string(by) + "]"
		organization, more := deniedSigning+"subject organization is not system:nodes"+id,
			deniedSigning+"subject has more than an organization and a common name"+id
		run(t, restrict(addressed(), enforce(by)), []row{
			{name: signer + ": that of a kubelet is admitted", write: signs(signer, request(t))},
			{name: signer + ": no organization is refused",
				write: signs(signer, request(t, subject(func(n *pkix.Name) { n.Organization = nil }))), by: by, says: organization},
			{name: signer + ": another is refused",
				write: signs(signer, request(t, subject(func(n *pkix.Name) { n.Organization = []string{"system:masters"} }))),
				by:    by, says: organization},
			{name: signer + ": one more is refused",
				write: signs(signer,
					request(t, subject(func(n *pkix.Name) { n.Organization = append(n.Organization, "system:masters") }))), by: by,
				says: organization},
			{name: signer + ": a unit is refused",
				write: signs(signer, request(t, subject(func(n *pkix.Name) { n.OrganizationalUnit = []string{"u"} }))), by: by,
				says: more},
			{name: signer + ": a second common name is refused",
				write: signs(signer, request(t, func(r *x509Template) { r.RawSubject = twice })), by: by, says: more},
		})
	}
}

func TestKubeletCertificateUsages(t *testing.T) {
	const (
		signature, encipherment = certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment
		client, server          = certificatesv1.UsageClientAuth, certificatesv1.UsageServerAuth
		says                    = deniedSigning +
			"usages must be digital signature, PURPOSE and, for an RSA key, key encipherment [ID]"
	)
	for _, tc := range []struct {
		signer         string
		request        []byte
		purpose, other certificatesv1.KeyUsage
		by             rules.ID
	}{
		{servingSigner, serving(t), server, client, "NR-CSR-2"},
		{clientSigner, signed(t), client, server, "NR-CSR-3"},
	} {
		text := strings.NewReplacer("PURPOSE", string(tc.purpose), "ID", string(tc.by)).Replace(says)
		run(t, restrict(addressed(), enforce(tc.by)), []row{
			{name: tc.signer + ": those of an elliptic key are admitted",
				write: signs(tc.signer, tc.request, tc.purpose, signature)},
			{name: tc.signer + ": those of an RSA key are admitted",
				write: signs(tc.signer, tc.request, signature, encipherment, tc.purpose)},
			{name: tc.signer + ": none for the purpose is refused", write: signs(tc.signer, tc.request, signature, encipherment),
				by: tc.by, says: text},
			{name: tc.signer + ": none for a signature is refused", write: signs(tc.signer, tc.request, tc.purpose), by: tc.by,
				says: text},
			{name: tc.signer + ": the other purpose is refused", write: signs(tc.signer, tc.request, signature, tc.other),
				by: tc.by, says: text},
			{name: tc.signer + ": both purposes are refused", write: signs(tc.signer, tc.request, signature, client, server),
				by: tc.by, says: text},
			{name: tc.signer + ": that of an authority is refused",
				write: signs(tc.signer, tc.request, signature, tc.purpose, certificatesv1.UsageCertSign), by: tc.by, says: text},
			{name: tc.signer + ": no usage is refused", write: signs(tc.signer, tc.request, []certificatesv1.KeyUsage{}...),
				by: tc.by, says: text},
		})
	}
}
