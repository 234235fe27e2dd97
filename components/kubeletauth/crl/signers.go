// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crl

import (
	"crypto/x509"
	"fmt"
	"slices"
	"time"
)

// signers are the CAs whose lists count: the client CAs, and intermediate ones that
// they vouch for.
type signers struct {
	trusted       []*x509.Certificate
	roots, beside *x509.CertPool
}

// newSigners takes what was found, and what was good before and is not replaced.
func newSigners(bundle []byte, contents map[string]content, last []file) *signers {
	s := &signers{roots: x509.NewCertPool(), beside: x509.NewCertPool()}
	for _, ca := range clientCAs(bundle) {
		s.roots.AddCert(ca)
		s.trusted = append(s.trusted, ca)
	}
	var beside []*x509.Certificate
	for _, content := range contents {
		beside = append(beside, content.cas...)
	}
	for _, file := range last {
		beside = append(beside, file.cas...)
	}
	for _, ca := range beside {
		s.beside.AddCert(ca)
	}
	// A certificate that nobody vouches for is a problem of the file it is in.
	for _, ca := range beside {
		if s.vouched(ca) == nil {
			s.trusted = append(s.trusted, ca)
		}
	}
	return s
}

func (s *signers) has(one issuer) bool {
	return slices.ContainsFunc(s.trusted, func(ca *x509.Certificate) bool { return issuerOf(ca) == one })
}

func (s *signers) vouched(ca *x509.Certificate) error {
	if !ca.IsCA || !ca.BasicConstraintsValid {
		return fmt.Errorf("certificate %q is not of a CA", ca.Subject.CommonName)
	}
	_, err := ca.Verify(x509.VerifyOptions{
		Roots: s.roots, Intermediates: s.beside, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	if err != nil {
		return untrustedError{fmt.Errorf("no client CA vouches for intermediate CA %q: %w", ca.Subject.CommonName, err)}
	}
	return nil
}

// verify makes the lists of one file. One problem spoils all of it.
func (s *signers) verify(found content, now time.Time) (file, error) {
	for _, ca := range found.cas {
		if err := s.vouched(ca); err != nil {
			return file{}, err
		}
	}
	good := file{cas: found.cas}
	for _, crl := range found.crls {
		l, err := newList(crl, s.trusted, now)
		if err != nil {
			return file{}, fmt.Errorf("CRL of %q: %w", crl.Issuer.String(), err)
		}
		good.lists = append(good.lists, l)
	}
	return good, nil
}
