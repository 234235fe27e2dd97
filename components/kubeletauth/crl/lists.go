// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crl

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"
)

// Lists are the lists in force at one time. They are immutable and safe for concurrent use. A nil
// *Lists revokes nothing.
type Lists struct {
	byIssuer map[issuer]*list
	byKey    map[key][]*list
	refuse   bool
	counters counters
	// digest identifies the content of the lists.
	digest [sha256.Size]byte
}

// ErrExpired means that the revocation of a certificate is unknown, because the list of its issuer
// has expired.
var ErrExpired = errors.New("the revocation list expired")

// Check checks the certificates in the verified chains of one client, leaf first. Each certificate
// is checked against the lists of its issuer, which is the next certificate in the chain.
//
// A certificate that is revoked in any chain denies the client, whatever other chains there are. A
// certificate also counts as revoked if its issuer's key has revoked it under another name. If no
// certificate is revoked, one chain without an expired list is enough.
//
// If the error is nil, the answer is valid until the returned time, or forever if that is zero. The
// error names the certificate and the reason. It is [ErrExpired] if no certificate is revoked.
func (l *Lists) Check(chains [][]*x509.Certificate, now time.Time) (until time.Time, err error) {
	if l == nil {
		return time.Time{}, nil
	}
	var unknown error
	inOrder := false
	for _, chain := range chains {
		end, err := l.checkChain(chain, now)
		switch {
		case err == nil:
			inOrder, until = true, earlier(until, end)
		case errors.Is(err, ErrExpired):
			unknown = err
		default:
			l.counters.revoked.Inc()
			return time.Time{}, err
		}
	}
	if unknown != nil && !inOrder {
		l.counters.expired.Inc()
		return time.Time{}, unknown
	}
	return until, nil
}

// checkChain prefers the error for a revoked certificate to the error for an expired list.
func (l *Lists) checkChain(chain []*x509.Certificate, now time.Time) (until time.Time, err error) {
	for i := 0; i+1 < len(chain); i++ {
		certificate, signer := chain[i], chain[i+1]
		if list := l.revokedBy(certificate, signer); list != nil {
			return time.Time{}, fmt.Errorf("certificate %x of %q is revoked", certificate.SerialNumber, list.name)
		}
		list := l.byIssuer[issuerOf(signer)]
		if list == nil || !l.refuse {
			continue
		}
		if !now.Before(list.nextUpdate) {
			err = fmt.Errorf("whether certificate %x of %q is revoked is not known: %w at %s",
				certificate.SerialNumber, list.name, ErrExpired, list.nextUpdate.Format(time.RFC3339))
		}
		until = earlier(until, list.nextUpdate)
	}
	return until, err
}

func (l *Lists) revokedBy(certificate, signer *x509.Certificate) *list {
	for _, list := range l.byKey[keyOf(signer)] {
		if _, revoked := list.revoked[serial(certificate.SerialNumber)]; revoked {
			return list
		}
	}
	return nil
}

// earlier returns the earlier time. A zero time means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// newLists uses the newest list of each issuer.
func newLists(all []*list, refuse bool, count counters) *Lists {
	l := &Lists{byIssuer: map[issuer]*list{}, byKey: map[key][]*list{}, refuse: refuse, counters: count}
	for _, next := range all {
		if known := l.byIssuer[next.issuer]; known == nil || next.newerThan(known) {
			l.byIssuer[next.issuer] = next
		}
	}
	var digests []string
	for _, in := range l.byIssuer {
		l.byKey[in.key] = append(l.byKey[in.key], in)
		digests = append(digests, string(in.issuer[:])+string(in.digest[:]))
	}
	slices.Sort(digests)
	hash := sha256.New()
	for _, digest := range digests {
		hash.Write([]byte(digest))
	}
	hash.Sum(l.digest[:0])
	return l
}

// Inspected is one verified list of a file, from [Inspect].
type Inspected struct {
	// Issuer is the common name of the CA. Key distinguishes two CAs with the same name.
	Issuer, Key string
	// Number is nil if the list has no CRL number.
	Number                 *big.Int
	ThisUpdate, NextUpdate time.Time
	Entries                int

	list *list
}

// Inspect verifies the lists of one file as the proxy does. clientCA contains the certificates of
// the client CAs, in PEM.
func Inspect(data, clientCA []byte, now time.Time) ([]Inspected, error) {
	found, err := decode(data)
	if err != nil {
		return nil, err
	}
	if len(found.crls) == 0 {
		return nil, errors.New("it has no CRL")
	}
	good, err := newSigners(clientCA, map[string]content{"": found}, nil).verify(found, now)
	if err != nil {
		return nil, err
	}
	inspected := make([]Inspected, 0, len(good.lists))
	for _, l := range good.lists {
		inspected = append(inspected, Inspected{
			Issuer: l.name, Key: hex.EncodeToString(l.issuer[:8]), Number: l.number,
			ThisUpdate: l.thisUpdate, NextUpdate: l.nextUpdate, Entries: len(l.revoked), list: l,
		})
	}
	return inspected, nil
}

// NewerThan compares lists of one CA: by CRL number if both have one, and otherwise by time.
func (i Inspected) NewerThan(other Inspected) bool { return i.list.newerThan(other.list) }

// SameCA reports whether both lists are from the same CA.
func (i Inspected) SameCA(other Inspected) bool { return i.list.issuer == other.list.issuer }
