// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/internal/kubeletcertificate"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const (
	servingSigner = certificatesv1.KubeletServingSignerName
	clientSigner  = certificatesv1.KubeAPIServerClientKubeletSignerName
	deniedSigning = `certificatesigningrequests.certificates.k8s.io "csr-1" is forbidden: `
	notOwnName    = deniedSigning + "can only create a node CSR with CN=system:node:me [NR-CSR-1]"
	notPEM        = deniedSigning + "unable to parse csr: PEM block type must be CERTIFICATE REQUEST [NR-CSR-1]"
)

// signed returns a PEM request with the subject of the node me, unless edited.
func signed(t testing.TB, edits ...func(*x509.CertificateRequest)) []byte {
	t.Helper()
	template := &x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:node:me",
		Organization: []string{"system:nodes"}}}
	for _, edit := range edits {
		edit(template)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

func commonName(name string) func(*x509.CertificateRequest) {
	return func(r *x509.CertificateRequest) { r.Subject.CommonName = name }
}

// signs returns a request to a signer, with the usages of a kubelet's key by default.
func signs(signer string, request []byte, usages ...certificatesv1.KeyUsage) admission.Attributes {
	if usages == nil {
		usages = usagesOf(signer)
	}
	return write("me", admission.Create, "certificatesigningrequests", "", &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "csr-1"},
		Spec:       certificatesv1.CertificateSigningRequestSpec{SignerName: signer, Request: request, Usages: usages},
	}, nil)
}

func usagesOf(signer string) []certificatesv1.KeyUsage {
	if signer == servingSigner {
		return []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth}
	}
	return []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}
}

func TestCertificatesAreInOwnName(t *testing.T) {
	own := signed(t)
	for _, signer := range []string{servingSigner, clientSigner} {
		run(t, restrict(aCluster()), []row{
			{name: signer + ": its own name is admitted", write: signs(signer, own)},
			{name: signer + ": another node's is refused", write: signs(signer, signed(t, commonName("system:node:other"))),
				by: "NR-CSR-1", says: notOwnName},
			{name: signer + ": one that begins alike is refused", write: signs(signer, signed(t, commonName("system:node:me2"))),
				by: "NR-CSR-1", says: notOwnName},
			{name: signer + ": no node's is refused", write: signs(signer, signed(t, commonName("me"))), by: "NR-CSR-1",
				says: notOwnName},
			{name: signer + ": none is refused", write: signs(signer, signed(t, commonName(""))), by: "NR-CSR-1",
				says: notOwnName},
			{name: signer + ": anything else in it is the approver's business",
				write: signs(signer, signed(t, func(r *x509.CertificateRequest) {
					r.Subject.Organization, r.DNSNames = []string{"system:masters"}, []string{"kubernetes"}
				}))},
		})
	}
	run(t, restrict(aCluster()), []row{
		{name: "other signer: no rule", write: signs("example.com/any", signed(t, commonName("system:node:other")))},
		{name: "other signer, invalid request: no rule", write: signs("kubernetes.io/kube-apiserver-client", []byte("x"))},
	})
}

func TestInsecureCertificates(t *testing.T) {
	insecure := func(c *Config) { c.Features.AllowInsecureKubeletCertificateSigningRequests = true }
	others := signs(clientSigner, signed(t, commonName("system:node:other")))
	run(t, restrict(aCluster(), insecure), []row{
		{name: "insecure gate on, other node's name: allowed", write: others},
		{name: "insecure gate on, empty request: allowed", write: signs(clientSigner, nil)},
	})
	run(t, restrict(aCluster(), insecure, enforce("NR-CSR-3")), []row{
		{name: "insecure gate on, NR-CSR-3 enforced, other node's name: denied", write: others, by: "NR-CSR-3",
			says: deniedSigning + "subject common name is not system:node:me [NR-CSR-3]"},
		{name: "insecure gate on, NR-CSR-3 enforced, empty request: denied", write: signs(clientSigner, nil), by: "NR-CSR-3",
			says: deniedSigning + "unable to parse csr: PEM block type must be CERTIFICATE REQUEST [NR-CSR-3]"},
	})
}

func TestCertificatesThatCannotBeRead(t *testing.T) {
	own := string(signed(t))
	der, _ := pem.Decode([]byte(own))
	wrapped := func(kind string, bytes []byte) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes})
	}
	huge := own + strings.Repeat("\n", kubeletcertificate.MaxRequestBytes)
	const tooLong = deniedSigning + "unable to parse csr: it has more than 65536 bytes [NR-CSR-1]"
	run(t, restrict(aCluster()), []row{
		{name: "empty request: denied", write: signs(clientSigner, nil), by: "NR-CSR-1", says: notPEM},
		{name: "request that is not PEM: denied", write: signs(clientSigner, der.Bytes), by: "NR-CSR-1", says: notPEM},
		{name: "PEM without an end: denied", write: signs(clientSigner, []byte(own[:len(own)-20])), by: "NR-CSR-1",
			says: notPEM},
		{name: "PEM of a certificate: denied", write: signs(clientSigner, wrapped("CERTIFICATE", der.Bytes)), by: "NR-CSR-1",
			says: notPEM},
		{name: "PEM type NEW CERTIFICATE REQUEST: denied",
			write: signs(clientSigner, wrapped("NEW CERTIFICATE REQUEST", der.Bytes)), by: "NR-CSR-1", says: notPEM},
		{name: "private key before the request: denied",
			write: signs(clientSigner, append(wrapped("PRIVATE KEY", []byte("x")), own...)), by: "NR-CSR-1", says: notPEM},
		{name: "truncated request: denied", write: signs(clientSigner, wrapped("CERTIFICATE REQUEST", der.Bytes[:40])),
			by: "NR-CSR-1", says: deniedSigning + "unable to parse csr: asn1: syntax error: data truncated [NR-CSR-1]"},
		{name: "request of 65536 bytes: allowed",
			write: signs(clientSigner, []byte(huge[:kubeletcertificate.MaxRequestBytes]))},
		{name: "request of 65537 bytes: denied",
			write: signs(clientSigner, []byte(huge[:kubeletcertificate.MaxRequestBytes+1])),
			by:    "NR-CSR-1", says: tooLong},
		{name: "request of 3 MB: denied",
			write: signs(clientSigner, []byte(strings.Repeat("-----BEGIN CERTIFICATE REQUEST-----\n", 3<<20/36))),
			by:    "NR-CSR-1", says: tooLong},
		{name: "two requests, the first in the own name: allowed",
			write: signs(clientSigner, append([]byte(own), signed(t, commonName("system:node:other"))...))},
		{name: "two requests, the first in another name: denied",
			write: signs(clientSigner, append(signed(t, commonName("system:node:other")), own...)), by: "NR-CSR-1",
			says: notOwnName},
		{name: "no object: denied",
			write: write("me", admission.Create, "certificatesigningrequests", "", nil, nil, named("csr-1")), by: "NR-CSR-1",
			says: deniedSigning + "unexpected type <nil> [NR-CSR-1]"},
		{name: "object of another type: denied",
			write: write("me", admission.Create, "certificatesigningrequests", "", aNode("me"), nil, named("csr-1")),
			by:    "NR-CSR-1", says: deniedSigning + "unexpected type *v1.Node [NR-CSR-1]"},
		{name: "update of a request: no rule",
			write: write("me", admission.Update, "certificatesigningrequests", "", nil, nil, named("csr-1"))},
	})
}

func TestOtherSigners(t *testing.T) {
	const says = deniedSigning +
		`node "me" can only request certificates of the signers ` +
		`kubernetes.io/kubelet-serving and kubernetes.io/kube-apiserver-client-kubelet, ` +
		`not of "kubernetes.io/kube-apiserver-client" [NR-CSR-4]`
	other := signs("kubernetes.io/kube-apiserver-client", signed(t))
	run(t, restrict(aCluster(), enforce("NR-CSR-4")), []row{
		{name: "other signer at bootstrap: denied", write: other, by: "NR-CSR-4", says: says},
		{name: "kubelet client signer: allowed", write: signs(clientSigner, signed(t))},
		{name: "kubelet serving signer: allowed", write: signs(servingSigner, signed(t))},
	})
	run(t, restrict(aCluster()), []row{{name: "rule off, every signer: allowed", write: other}})
	auditedOnly(t, restrict(aCluster(), inMode(rules.Audit, "NR-CSR-4")), other, "NR-CSR-4")
}

// FuzzCertificateSigningRequest checks that a kubelet certificate is admitted only for the node's
// own name, and that no input causes a panic.
func FuzzCertificateSigningRequest(f *testing.F) {
	own := signed(f)
	f.Add(own)
	f.Add(signed(f, commonName("system:node:other")))
	f.Add(signed(f, func(r *x509.CertificateRequest) { r.DNSNames = []string{"me", "*.example"} }))
	f.Add(own[:len(own)/2])
	f.Add([]byte("-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----\n"))
	f.Add([]byte(strings.Repeat("-----BEGIN ", 100)))
	upstream := restrict(aCluster())
	beyond := restrict(aCluster(), enforce("NR-CSR-2", "NR-CSR-3"))
	f.Fuzz(func(t *testing.T, request []byte) {
		for _, signer := range []string{servingSigner, clientSigner} {
			write := signs(signer, request)
			admitted := upstream.Review(t.Context(), write).Allowed()
			if admitted && !namesMe(request) {
				t.Errorf("admitted for %s", signer)
			}
			if !admitted && beyond.Review(t.Context(), write).Allowed() {
				t.Errorf("the rules beyond upstream open %s", signer)
			}
		}
	})
}

// namesMe parses a request independently of the code under test.
func namesMe(request []byte) bool {
	block, _ := pem.Decode(request)
	if block == nil || len(request) > kubeletcertificate.MaxRequestBytes {
		return false
	}
	parsed, err := x509.ParseCertificateRequest(block.Bytes)
	return err == nil && parsed.Subject.CommonName == "system:node:me"
}
