// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crl

import (
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"
)

// clockSkew is how far in the future a list may begin, because the clocks of a CA and of a node
// differ.
const clockSkew = 5 * time.Minute

// issuer identifies a CA by its name and key, whichever certificate it has.
type issuer [sha256.Size]byte

func issuerOf(ca *x509.Certificate) issuer {
	return sha256.Sum256(append(ca.RawSubject[:len(ca.RawSubject):len(ca.RawSubject)], ca.RawSubjectPublicKeyInfo...))
}

// key identifies the key of a CA, whichever name it has.
type key [sha256.Size]byte

func keyOf(ca *x509.Certificate) key { return sha256.Sum256(ca.RawSubjectPublicKeyInfo) }

// list is a CRL that its issuer signed.
type list struct {
	issuer                 issuer
	key                    key
	name                   string
	number                 *big.Int
	thisUpdate, nextUpdate time.Time
	revoked                map[string]struct{}
	digest                 [sha256.Size]byte
	// raw is the CRL in DER.
	raw []byte
}

// newList verifies a CRL with the CAs that may have signed it.
func newList(crl *x509.RevocationList, signers []*x509.Certificate, now time.Time) (*list, error) {
	if err := checkComplete(crl); err != nil {
		return nil, err
	}
	if crl.NextUpdate.IsZero() {
		return nil, errors.New("it does not say when the next one is due")
	}
	if crl.ThisUpdate.After(now.Add(clockSkew)) {
		return nil, fmt.Errorf("it is from the future, %s", crl.ThisUpdate.Format(time.RFC3339))
	}
	signer, err := signerOf(crl, signers)
	if err != nil {
		return nil, err
	}
	l := &list{
		issuer: issuerOf(signer), key: keyOf(signer), name: signer.Subject.CommonName,
		number: crl.Number, thisUpdate: crl.ThisUpdate, nextUpdate: crl.NextUpdate,
		revoked: make(map[string]struct{}, len(crl.RevokedCertificateEntries)),
		digest:  sha256.Sum256(crl.RawTBSRevocationList),
		raw:     crl.Raw,
	}
	for _, entry := range crl.RevokedCertificateEntries {
		l.revoked[serial(entry.SerialNumber)] = struct{}{}
	}
	return l, nil
}

// errUntrusted means that the list's CA is not, or no longer, below the client CAs.
var errUntrusted = errors.New("is not a client CA")

func serial(number *big.Int) string { return string(number.Bytes()) }

func signerOf(crl *x509.RevocationList, signers []*x509.Certificate) (*x509.Certificate, error) {
	switch crl.SignatureAlgorithm {
	case x509.UnknownSignatureAlgorithm, x509.MD2WithRSA, x509.MD5WithRSA, x509.SHA1WithRSA, x509.DSAWithSHA1,
		x509.DSAWithSHA256, x509.ECDSAWithSHA1:
		return nil, fmt.Errorf("signatures by %v are not accepted", crl.SignatureAlgorithm)
	default:
	}
	named := false
	for _, signer := range signers {
		if string(signer.RawSubject) != string(crl.RawIssuer) {
			continue
		}
		named = true
		if signer.CheckSignature(crl.SignatureAlgorithm, crl.RawTBSRevocationList, crl.Signature) == nil {
			return signer, nil
		}
	}
	if named {
		return nil, fmt.Errorf("the signature is not that of client CA %q", crl.Issuer.String())
	}
	return nil, fmt.Errorf("its issuer %q %w, and no intermediate CA whose certificate lies beside it",
		crl.Issuer.String(), errUntrusted)
}

// newerThan compares lists of one issuer: by CRL number if both have one (RFC 5280 section 5.2.3),
// and otherwise by time.
func (l *list) newerThan(other *list) bool {
	if l.number != nil && other.number != nil {
		if order := l.number.Cmp(other.number); order != 0 {
			return order > 0
		}
	}
	return l.thisUpdate.After(other.thisUpdate)
}

// before reports whether the list is older than another list of its issuer, by time and not only by
// number. A CA that has lost its CRL numbers starts again with low ones.
func (l *list) before(other *list) bool {
	return !l.thisUpdate.After(other.thisUpdate) && other.newerThan(l)
}

// signers are the CAs whose lists count: the client CAs, and intermediate CAs below them.
type signers struct {
	trusted       []*x509.Certificate
	roots, beside *x509.CertPool
}

// newSigners uses the certificates in contents, and those in last, which were valid before and are
// not replaced.
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
	// The file of an untrusted certificate gets the error, in verify.
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

// verify verifies the lists of one file. One invalid list makes the whole file invalid.
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
