// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
)

var signerNames = []string{
	certificatesv1.KubeletServingSignerName, certificatesv1.KubeAPIServerClientKubeletSignerName,
	certificatesv1.KubeletServingSignerName, certificatesv1.KubeAPIServerClientKubeletSignerName,
	certificatesv1.KubeAPIServerClientSignerName, "example.com/s1", "",
}

// requests are created once, because signing takes longer than everything else.
var requests = makeRequests()

func makeRequests() [][]byte {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	var all [][]byte
	for _, name := range []string{"system:node:n1", "system:node:n1", "system:node:n2", "n1", "", "system:node:",
		"system:node:n1 ", "system:masters"} {
		der, err := x509.CreateCertificateRequest(
			nil,
			&x509.CertificateRequest{Subject: pkix.Name{CommonName: name, Organization: []string{"system:nodes"}}},
			key,
		)
		if err != nil {
			// The names are constants in this function.
			panic(err)
		}
		all = append(all, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
	}
	mine := all[0]
	block, _ := pem.Decode(mine)
	return append(
		all,
		nil,
		[]byte("x"),
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: block.Bytes}),
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: []byte("x")}),
		pem.EncodeToMemory(
			&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: append(block.Bytes[:len(block.Bytes):len(block.Bytes)], 0)},
		),
		append(
			[]byte("before\n"),
			mine...),
		bytes.Join([][]byte{all[2], mine}, nil),
		bytes.Join([][]byte{mine, all[2]}, nil),
		append(
			[]byte(strings.Repeat("long ", 20_000)+"\n"),
			mine...),
		append([]byte(strings.Repeat("long ", 20_000)+"\n"), all[2]...),
	)
}

func (m *Generator) requestCertificate(w *Write) {
	w.at(certificatesv1.GroupName, "v1", "certificatesigningrequests", "")
	request := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "csr-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: harness.Pick(m.RNG, signerNames),
			Request:    harness.Pick(m.RNG, requests),
		},
	}
	if m.OneIn(2) {
		request.Name, request.GenerateName = "csr", ""
	}
	w.Operation, w.Object = admission.Create, request
	w.to("", request.Name)
}

func (m *Generator) otherCertificate(w *Write) {
	m.requestCertificate(w)
	w.Old, w.Subresource = w.Object, harness.Pick(m.RNG, []string{"", "status", "approval"})
	w.Operation = harness.Pick(m.RNG, []admission.Operation{admission.Create, admission.Update, admission.Delete})
}
