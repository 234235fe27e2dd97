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

// pinnedOverlap is how long the verifier accepts the former certificate too. Whoever shows the
// certificate reads a new one within seconds.
const pinnedOverlap = 10 * time.Minute

// announce writes the new certificate to l.Trust, and behind it the one in use, which goes on
// being accepted. Then it waits until the verifier accepts the new one. The caller writes the
// pair afterwards: so a certificate is never shown before it is accepted.
func (k Keeper) announce(l Leaf, der []byte, key *ecdsa.PrivateKey) error {
	current, err := readCert(l.CertFile)
	if err != nil || !k.Now().Before(current.NotAfter) {
		// Nothing that works is replaced, so there is nothing to wait for.
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

// settle leaves only the certificate in use in l.Trust, once it has been in use for a while.
func (k Keeper) settle(l Leaf) error {
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

// pins reports whether cert is in the file of a verifier.
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
