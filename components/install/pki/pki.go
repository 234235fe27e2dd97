// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package pki issues the certificates of Bulkhead's components and renews them. The program that
// issued a certificate also renews it.
package pki

import (
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
	"math/big"
	"net"
	"os"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// caValidity is long. The CA never leaves its host and signs only for loopback, so a yearly
// rotation has no benefit.
const caValidity = 10 * 365 * 24 * time.Hour

// clockSkew is how far the clock of a verifier may be behind.
const clockSkew = time.Minute

// Pair is the files of a certificate and its key.
type Pair struct {
	CertFile, KeyFile string
}

// Leaf is one certificate that Bulkhead issues and renews.
type Leaf struct {
	// Name identifies the certificate to users. It is a label value of the expiry metric.
	Name string
	Pair
	// Signer is the authority that signs the certificate. It is not used if Trust is set.
	Signer Pair
	// Trust is set for a self-signed certificate. It is the file with the certificates that the
	// verifier accepts. So there is no authority with a key that could be stolen. The certificate
	// is not a CA: its key cannot sign another certificate that the verifier would accept
	// (crypto/x509 CheckSignatureFrom).
	Trust        string
	CommonName   string
	Organization []string
	DNSNames     []string
	IPs          []net.IP
	Usage        x509.ExtKeyUsage
	// Mode is the mode of both files. Their group is the group of the directory.
	Mode os.FileMode
}

// EnsureCA creates a certificate authority if there is none. It reports whether it created one.
func EnsureCA(ca Pair, name string, now time.Time) (made bool, err error) {
	// An incomplete authority is not replaced: clients that trust its certificate would lose
	// access.
	if exists(ca.CertFile) || exists(ca.KeyFile) {
		return false, CanSign(ca)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return false, err
	}
	template, err := newTemplate(pkix.Name{CommonName: name, Organization: []string{"bulkhead"}}, now, caValidity)
	if err != nil {
		return false, err
	}
	template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return false, err
	}
	return true, writePair(ca, der, key, 0o600)
}

// issue creates a new key and a certificate for it.
func (k Rotator) issue(l Leaf) error {
	der, key, err := l.sign(k.Now(), k.Policy.Validity)
	if err != nil {
		return fmt.Errorf("signing %s: %w", l.Name, err)
	}
	if l.Trust != "" {
		if err := k.announce(l, der, key); err != nil {
			return err
		}
	}
	return writePair(l.Pair, der, key, l.Mode)
}

// sign creates a certificate and its key in memory, and writes no file.
func (l Leaf) sign(now time.Time, validity time.Duration) (der []byte, key *ecdsa.PrivateKey, err error) {
	if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, nil, err
	}
	template, err := newTemplate(pkix.Name{CommonName: l.CommonName, Organization: l.Organization}, now, validity)
	if err != nil {
		return nil, nil, err
	}
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{l.Usage}
	template.DNSNames, template.IPAddresses = l.DNSNames, l.IPs
	signer, signerKey := template, crypto.Signer(key)
	if l.Trust == "" {
		if signer, signerKey, err = load(l.Signer); err != nil {
			return nil, nil, err
		}
	}
	// A certificate that is valid longer than its signer would look valid, but verifiers would
	// reject it.
	if template.NotAfter.After(signer.NotAfter) {
		template.NotAfter = signer.NotAfter
	}
	der, err = x509.CreateCertificate(rand.Reader, template, signer, key.Public(), signerKey)
	return der, key, err
}

func newTemplate(subject pkix.Name, now time.Time, validity time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	return &x509.Certificate{
		SerialNumber: serial.Add(serial, big.NewInt(1)),
		Subject:      subject,
		NotBefore:    now.Add(-clockSkew).UTC(),
		NotAfter:     now.Add(validity).UTC(),
	}, nil
}

// writePair replaces both files in the shortest possible time. If the pair does not match,
// client-go keeps the error for a second.
func writePair(p Pair, der []byte, key *ecdsa.PrivateKey, mode os.FileMode) error {
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	file := func(kind string, der []byte) atomicfile.File {
		f := atomicfile.Private(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
		f.Mode = mode
		return f
	}
	return atomicfile.WriteTogether(
		atomicfile.Placed{Path: p.KeyFile, File: file("PRIVATE KEY", keyDER)},
		atomicfile.Placed{Path: p.CertFile, File: file("CERTIFICATE", der)},
	)
}

// CanSign returns an error if the certificate authority cannot be used on this host.
func CanSign(ca Pair) error {
	cert, _, err := load(ca)
	if err != nil {
		return err
	}
	if !cert.IsCA {
		return fmt.Errorf("%s is not a certificate authority", ca.CertFile)
	}
	return nil
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return !errors.Is(err, os.ErrNotExist)
}

// load reads a pair and checks that the key matches the certificate.
func load(p Pair) (*x509.Certificate, crypto.Signer, error) {
	pair, err := tls.LoadX509KeyPair(p.CertFile, p.KeyFile)
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s and %s: %w", p.CertFile, p.KeyFile, err)
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, nil, fmt.Errorf("reading %s: its key cannot sign", p.KeyFile)
	}
	return pair.Leaf, key, nil
}
