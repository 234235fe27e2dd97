// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package revocation

import (
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"slices"
	"time"
)

// Lists are those in force at one time. They do not change, and are safe for
// concurrent use. A nil *Lists revokes nothing.
type Lists struct {
	byIssuer map[issuer]*list
	byKey    map[key][]*list
	refuse   bool
	counters counters
	// digest is of what the lists are made of.
	digest [sha256.Size]byte
}

// Refusal is the error when a certificate may not be used. It says which, and why.
type Refusal struct {
	// Expired is false if the certificate is revoked, and true if nobody knows
	// because the list of its issuer has expired.
	Expired bool
	text    string
}

func (r *Refusal) Error() string { return r.text }

// Check looks for the certificates of verified chains of one client, leaf first, each
// in the lists of its issuer, which follows it. A certificate that is revoked in any
// chain refuses the client, whatever other chains there are, and one counts as revoked
// that its issuer's key has revoked under another name. If none is revoked, one chain is
// enough of which no list has expired. Without an error, the answer stays the same until
// a time, or for good if that is zero. The error is a [*Refusal].
func (l *Lists) Check(chains [][]*x509.Certificate, now time.Time) (until time.Time, err error) {
	if l == nil {
		return time.Time{}, nil
	}
	var unknown *Refusal
	inOrder := false
	for _, chain := range chains {
		end, refusal := l.checkChain(chain, now)
		switch {
		case refusal == nil:
			inOrder, until = true, earlier(until, end)
		case refusal.Expired:
			unknown = refusal
		default:
			l.counters.revoked.Inc()
			return time.Time{}, refusal
		}
	}
	if unknown != nil && !inOrder {
		l.counters.expired.Inc()
		return time.Time{}, unknown
	}
	return until, nil
}

// checkChain prefers to say that something is revoked.
func (l *Lists) checkChain(chain []*x509.Certificate, now time.Time) (until time.Time, refusal *Refusal) {
	for i := 0; i+1 < len(chain); i++ {
		certificate, signer := chain[i], chain[i+1]
		if list := l.revokedBy(certificate, signer); list != nil {
			return time.Time{}, &Refusal{text: fmt.Sprintf("certificate %x of %q is revoked", certificate.SerialNumber, list.name)}
		}
		list := l.byIssuer[issuerOf(signer)]
		if list == nil || !l.refuse {
			continue
		}
		if !now.Before(list.nextUpdate) {
			refusal = &Refusal{Expired: true, text: fmt.Sprintf("whether certificate %x of %q is revoked is not known: the revocation list expired at %s",
				certificate.SerialNumber, list.name, list.nextUpdate.Format(time.RFC3339))}
		}
		until = earlier(until, list.nextUpdate)
	}
	return until, refusal
}

func (l *Lists) revokedBy(certificate, signer *x509.Certificate) *list {
	for _, list := range l.byKey[keyOf(signer)] {
		if _, revoked := list.revoked[serial(certificate.SerialNumber)]; revoked {
			return list
		}
	}
	return nil
}

// earlier takes a zero time for never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// newLists takes the newest of each issuer.
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
