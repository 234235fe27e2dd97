// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// pinnedOverlap is how long the verifier also accepts the former certificate. The client reads a
// new certificate within seconds.
const pinnedOverlap = 10 * time.Minute

// announce writes the new certificate to l.Trust, followed by the certificate in use, which stays
// accepted. Then it waits until the verifier accepts the new one. The caller writes the pair
// afterwards. So a client never shows a certificate before the verifier accepts it.
func (k Rotator) announce(l Leaf, der []byte, key *ecdsa.PrivateKey) error {
	current, err := readCert(l.CertFile)
	if err != nil || !k.Now().Before(current.NotAfter) {
		// There is no valid certificate in use, so no wait is needed.
		return writeCerts(l.Trust, der)
	}
	if err := writeCerts(l.Trust, der, current.Raw); err != nil {
		return err
	}
	if k.Accepted == nil {
		return nil
	}
	if err := k.Accepted(tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}); err != nil {
		return fmt.Errorf("cannot replace the certificate %s: %w; the old one stays in use", l.Name, err)
	}
	return nil
}

// settle removes all certificates from l.Trust except the one in use, after pinnedOverlap.
func (k Rotator) settle(l Leaf) error {
	current, err := readCert(l.CertFile)
	if err != nil {
		return err
	}
	if issued := current.NotBefore.Add(clockSkew); k.Now().Sub(issued) < pinnedOverlap {
		return nil
	}
	if trusted, err := os.ReadFile(l.Trust); err == nil && bytes.Equal(trusted, certsPEM(current.Raw)) {
		return nil
	}
	return writeCerts(l.Trust, current.Raw)
}

// pins reports whether the verifier's file contains cert.
func pins(file string, cert *x509.Certificate) bool {
	trusted, err := os.ReadFile(file)
	return err == nil && bytes.Contains(trusted, certsPEM(cert.Raw))
}

func writeCerts(file string, ders ...[]byte) error {
	return atomicfile.Write(file, atomicfile.Private(certsPEM(ders...)), "")
}

func certsPEM(ders ...[]byte) []byte {
	var all []byte
	for _, der := range ders {
		all = append(all, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	return all
}
