// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package testpki creates CAs, certificates and revocation lists for tests.
package testpki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"
)

// CA is a certificate authority. Like the CAs of kubeadm, it has no key usage for revocation lists.
type CA struct {
	Certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	// Chain is the certificates of the CAs above it, without the root.
	Chain  []*x509.Certificate
	serial int64
}

// NewCA creates a root CA.
func NewCA(t testing.TB, name string) *CA {
	t.Helper()
	ca := &CA{key: newKey(t), serial: 1}
	ca.Certificate = sign(t, authority(name, 1, 10*365*24*time.Hour), &ca.key.PublicKey, nil, ca.key)
	return ca
}

// Intermediate creates a CA below this one.
func (ca *CA) Intermediate(t testing.TB, name string) *CA {
	t.Helper()
	ca.serial++
	below := &CA{key: newKey(t), serial: 1000 * ca.serial}
	below.Certificate = sign(t, authority(name, ca.serial, 5*365*24*time.Hour), &below.key.PublicKey, ca.Certificate,
		ca.key)
	below.Chain = append([]*x509.Certificate{below.Certificate}, ca.Chain...)
	return below
}

// Signed returns a certificate for the name and key of another CA, signed by this CA.
func (ca *CA) Signed(t testing.TB, other *CA) *x509.Certificate {
	t.Helper()
	ca.serial++
	return sign(t, authority(other.Certificate.Subject.CommonName, ca.serial, 365*24*time.Hour), &other.key.PublicKey,
		ca.Certificate, ca.key)
}

// Renamed returns a root CA with the same key and another name.
func (ca *CA) Renamed(t testing.TB, name string) *CA {
	t.Helper()
	return &CA{key: ca.key, serial: 1,
		Certificate: sign(t, authority(name, 1, 365*24*time.Hour), &ca.key.PublicKey, nil, ca.key)}
}

func authority(name string, serial int64, life time.Duration) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(life),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageKeyEncipherment | x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
}

// Client creates a client certificate that is valid for a year, unless tweak changes it.
func (ca *CA) Client(t testing.TB, name string, groups []string, tweak ...func(*x509.Certificate)) *x509.Certificate {
	t.Helper()
	ca.serial++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(ca.serial), Subject: pkix.Name{CommonName: name, Organization: groups},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(365 * 24 * time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, change := range tweak {
		change(template)
	}
	return sign(t, template, &newKey(t).PublicKey, ca.Certificate, ca.key)
}

// KeyPair is a certificate and its key, both in PEM.
type KeyPair struct{ Certificate, Key []byte }

// Issue creates a key pair that is valid for an hour and for the address 127.0.0.1, unless tweak
// changes it.
func (ca *CA) Issue(t testing.TB, subject pkix.Name, usage x509.ExtKeyUsage, tweak ...func(*x509.Certificate)) KeyPair {
	t.Helper()
	ca.serial++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(ca.serial), Subject: subject, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{usage}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	for _, change := range tweak {
		change(template)
	}
	key := newKey(t)
	return encode(t, sign(t, template, &key.PublicKey, ca.Certificate, ca.key), key)
}

// SelfSigned creates a certificate for 127.0.0.1 that is its own CA, for a server and for a client.
func SelfSigned(t testing.TB, name string) KeyPair {
	t.Helper()
	key := newKey(t)
	template := authority(name, 1, time.Hour)
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	return encode(t, sign(t, template, &key.PublicKey, nil, key), key)
}

func encode(t testing.TB, certificate *x509.Certificate, key *ecdsa.PrivateKey) KeyPair {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return KeyPair{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw}),
		Key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
	}
}

// Bundle returns certificate and key in one file.
func (p KeyPair) Bundle() []byte { return slices.Concat(p.Certificate, p.Key) }

// TLS returns the configuration of a client that trusts a CA and has this key pair.
func (p KeyPair) TLS(t testing.TB, trusted *CA) *tls.Config {
	t.Helper()
	pair, err := tls.X509KeyPair(p.Certificate, p.Key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{RootCAs: trusted.Pool(), MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
}

// Pool returns a pool with only this CA.
func (ca *CA) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(ca.Certificate)
	return pool
}

// PEM returns the certificate of the CA.
func (ca *CA) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Certificate.Raw})
}

// CRL creates a revocation list in DER that revokes the certificates. It has number 1 and is valid
// for an hour, unless tweak changes it.
func (ca *CA) CRL(t testing.TB, revoked []*x509.Certificate, tweak ...func(*x509.RevocationList)) []byte {
	t.Helper()
	template := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: time.Now().Add(-time.Minute),
		NextUpdate: time.Now().Add(time.Hour)}
	for _, certificate := range revoked {
		template.RevokedCertificateEntries = append(template.RevokedCertificateEntries,
			x509.RevocationListEntry{SerialNumber: certificate.SerialNumber, RevocationTime: time.Now().Add(-time.Minute)})
	}
	for _, change := range tweak {
		change(template)
	}
	issuer := *ca.Certificate
	issuer.KeyUsage |= x509.KeyUsageCRLSign
	issuer.SubjectKeyId = []byte("key")
	der, err := x509.CreateRevocationList(rand.Reader, template, &issuer, ca.key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// CRLPEM converts a revocation list from DER to PEM.
func CRLPEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der})
}

// Request returns a request over a connection on which a client presented certificates, leaf first.
func Request(t testing.TB, shown ...*x509.Certificate) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://node:10250/pods", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.RemoteAddr = "192.0.2.1:40000"
	req.TLS = &tls.ConnectionState{PeerCertificates: shown}
	return req
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// sign signs a certificate. Without a parent, the certificate is self-signed.
func sign(t testing.TB, template *x509.Certificate, public *ecdsa.PublicKey, parent *x509.Certificate,
	key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}
