// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/util/keyutil"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// pki is the directory where kubeadm keeps the keys of the cluster on a control-plane host.
const pki = "/etc/kubernetes/pki/"

// authority is a CA with its key.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// clusterAuthority returns the cluster's own CA with its key. It signs certificates that no signer
// of the cluster would sign.
func clusterAuthority(ctx context.Context) authority {
	GinkgoHelper()
	return authority{
		certificate: must(certificateOf([]byte(suite.OnControlPlane(ctx, "cat "+pki+"ca.crt")))),
		key:         clusterKey(ctx, "ca.key"),
	}
}

// clusterKey reads one of the cluster's private keys.
func clusterKey(ctx context.Context, file string) crypto.Signer {
	GinkgoHelper()
	key := must(keyutil.ParsePrivateKeyPEM([]byte(suite.OnControlPlane(ctx, "cat "+pki+file))))
	signer, ok := key.(crypto.Signer)
	Expect(ok).To(BeTrue(), "%s is a %T", file, key)
	return signer
}

// strangeAuthority returns an untrusted CA with the same name as the cluster's CA.
func strangeAuthority() authority {
	GinkgoHelper()
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der := must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))
	return authority{certificate: must(x509.ParseCertificate(der)), key: key}
}

// certify issues a client certificate of a user. The changes edit the template.
func (a authority) certify(user string, changes ...func(*x509.Certificate)) Caller {
	GinkgoHelper()
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: must(rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))), Subject: pkix.Name{CommonName: user},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, change := range changes {
		change(template)
	}
	der := must(x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key))
	return Caller{User: user, Certificate: &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}}
}

// list returns a certificate revocation list of the CA with these certificates. It expires after
// the given time.
func (a authority) list(lasts time.Duration, revoked ...Caller) string {
	GinkgoHelper()
	template := &x509.RevocationList{
		// Later lists need larger numbers, also across processes.
		Number: big.NewInt(time.Now().UnixNano()), ThisUpdate: time.Now().Add(-time.Hour), NextUpdate: time.Now().Add(lasts),
	}
	for _, who := range revoked {
		template.RevokedCertificateEntries = append(template.RevokedCertificateEntries, x509.RevocationListEntry{
			SerialNumber: must(leafOf(who)).SerialNumber, RevocationTime: time.Now().Add(-time.Minute),
		})
	}
	// kubeadm's CA does not have the key usage for revocation lists, but crypto/x509 requires it.
	issuer := *a.certificate
	issuer.KeyUsage |= x509.KeyUsageCRLSign
	der := must(x509.CreateRevocationList(rand.Reader, template, &issuer, a.key))
	return string(pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der}))
}

func leafOf(who Caller) (*x509.Certificate, error) {
	if who.Certificate == nil {
		return nil, errors.New(who.User + " has no certificate")
	}
	return x509.ParseCertificate(who.Certificate.Certificate[0])
}

// textOf reads the whole text and removes the last newline.
func textOf(from io.Reader) (string, error) {
	data, err := io.ReadAll(from)
	if err != nil {
		return "", fmt.Errorf("reading the answer: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}
