// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package pki makes the certificates of Bulkhead's components and keeps them
// alive: whoever made a certificate renews it.
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

// caValidity is long because a CA that never leaves one host, and signs for
// loopback only, gains nothing from a hand-over every year.
const caValidity = 10 * 365 * 24 * time.Hour

// clockSkew is how far behind a verifier's clock may be.
const clockSkew = time.Minute

// Pair is a certificate and its key, as files.
type Pair struct {
	CertFile, KeyFile string
}

// Leaf is one certificate that we make and renew.
type Leaf struct {
	// Name is what people call it: the value of the label of the expiry metric.
	Name string
	Pair
	// Signer is the authority that signs it. It is not used if Trust is set.
	Signer Pair
	// Trust is set for a certificate that signs itself: the file with the certificates that its
	// verifier accepts. So no authority has a key that could be stolen. The certificate is not one
	// of an authority: its own key signs no other that the verifier would accept
	// (crypto/x509 CheckSignatureFrom).
	Trust        string
	CommonName   string
	Organization []string
	DNSNames     []string
	IPs          []net.IP
	Usage        x509.ExtKeyUsage
	// Mode is that of both files. Their group is that of the directory.
	Mode os.FileMode
}

// EnsureCA makes a certificate authority unless there is one, and says whether it did.
func EnsureCA(ca Pair, name string, now time.Time) (made bool, err error) {
	// Half an authority is not replaced: whoever trusts its certificate would be
	// cut off.
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

// issue makes a new key and a certificate for it.
func (k Keeper) issue(l Leaf) error {
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

// sign writes nothing.
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
	// A certificate that outlives its signer would look alive and be refused.
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

// writePair replaces both files with as little time between them as there can
// be: client-go keeps the error of a pair that does not match for a second.
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

// CanSign says why a certificate authority cannot be used here, or nil.
func CanSign(ca Pair) error {
	cert, _, err := load(ca)
	if err != nil {
		return err
	}
	if !cert.IsCA {
		return fmt.Errorf("%s is no certificate authority", ca.CertFile)
	}
	return nil
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return !errors.Is(err, os.ErrNotExist)
}

// load reads a pair and checks that its halves belong together.
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
