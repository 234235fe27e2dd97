// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"cmp"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	requestx509 "k8s.io/apiserver/pkg/authentication/request/x509"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/crl"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/reviewclient"
)

const (
	// maxGroups bounds the groups in a certificate. maxNames bounds the bytes of its user name and
	// groups together. Every access review contains all of them.
	maxGroups = 1000
	maxNames  = 32 << 10
	// maxPresented bounds the certificates that a client presents. maxPresentedBytes bounds all of
	// them together. Parsed certificates take several times that memory.
	maxPresented      = 10
	maxPresentedBytes = 48 << 10

	cachedCertificates     = 1024
	cachedCertificateBytes = 8 << 20
	// refusalTTL is how long a denial is cached. A certificate that has become valid is denied for
	// up to that time.
	refusalTTL         = 10 * time.Second
	cachedRefusalBytes = 1 << 10
)

// certificates authenticates requests by client certificate.
type certificates struct {
	options requestx509.VerifyOptionFunc
	revoked *crl.Checker
	// cached has successful verifications, refused has denials. The caches are separate so that
	// denied certificates do not evict valid ones. The cache of denials saves work: a client that
	// sends certificates which take long to verify needs a new handshake for each verification.
	cached, refused *reviewclient.Cache[verified]
}

// verified is the result of a verification, with the roots and the lists that it depends on.
type verified struct {
	response *authenticator.Response
	err      error
	roots    *x509.CertPool
	lists    *crl.Lists
}

func newCertificates(options requestx509.VerifyOptionFunc, revoked *crl.Checker) *certificates {
	return &certificates{
		options: options, revoked: revoked,
		cached:  reviewclient.NewCache[verified](cachedCertificates, cachedCertificateBytes),
		refused: reviewclient.NewCache[verified](cachedCertificates, cachedCertificateBytes),
	}
}

// AuthenticateRequest verifies the client certificate of the connection. A denial because of
// revocation is final.
func (c *certificates) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	if req.TLS == nil || len(req.TLS.PeerCertificates) == 0 {
		return nil, false, nil
	}
	presented := req.TLS.PeerCertificates
	if err := cmp.Or(CheckShown(presented), checkNames(presented[0].Subject)); err != nil {
		return nil, false, err
	}
	options, ok := c.options()
	if !ok {
		return nil, false, nil
	}
	under := verified{roots: options.Roots}
	if c.revoked != nil {
		under.lists = c.revoked.Lists()
	}
	key := keyOf(presented)
	for _, known := range []*reviewclient.Cache[verified]{c.cached, c.refused} {
		if v, ok := known.Get(key); ok && v.roots == under.roots && v.lists == under.lists {
			return v.response, v.response != nil, v.err
		}
	}
	response, until, err := verify(req, options, under.lists)
	under.response = response
	if err != nil {
		under.err = err
		c.refused.Put(key, under, cachedRefusalBytes, refusalTTL)
		return nil, false, err
	}
	if response == nil {
		return nil, false, nil
	}
	c.cached.Put(key, under, sizeOf(response), time.Until(until))
	return response, true, nil
}

// verify lets the authenticator of k8s.io/apiserver verify the certificate. Then it checks all
// chains that this finds against the revocation lists. The result is valid until the returned time.
// Every error is a [*Denied].
func verify(req *http.Request, options x509.VerifyOptions, lists *crl.Lists) (*authenticator.Response, time.Time,
	error) {
	if err := checkEncoding(req.TLS.PeerCertificates[0]); err != nil {
		return nil, time.Time{}, err
	}
	var chains [][]*x509.Certificate
	all := func(chain []*x509.Certificate) (*authenticator.Response, bool, error) {
		chains = append(chains, chain)
		return nil, false, nil
	}
	if _, _, err := requestx509.New(options, requestx509.UserConversionFunc(all)).AuthenticateRequest(req); err != nil {
		return nil, time.Time{}, notInOrder(err)
	}
	if len(chains) == 0 {
		return nil, time.Time{}, nil
	}
	end, err := lists.Check(chains, time.Now())
	if err != nil {
		r := deny(kubeletauth.RuleRevoked, err.Error(), nil)
		r.final = true
		return nil, time.Time{}, r
	}
	response, ok, err := requestx509.CommonNameUserConversion(chains[0])
	if err != nil {
		return nil, time.Time{}, notInOrder(err)
	}
	if !ok {
		return nil, time.Time{}, nil
	}
	return response, earliestEnd(chains, end), nil
}

// notInOrder returns the denial of an invalid certificate. It shortens the cause, which quotes the
// certificate.
func notInOrder(err error) *Denied {
	return deny(kubeletauth.RuleAuthenticated, "invalid client certificate",
		errors.New(webhook.Loggable(err.Error())))
}

// earliestEnd returns the earliest expiry of the certificates, or end if that is earlier. A zero
// end means never.
func earliestEnd(chains [][]*x509.Certificate, end time.Time) time.Time {
	for _, certificate := range slices.Concat(chains...) {
		if end.IsZero() || certificate.NotAfter.Before(end) {
			end = certificate.NotAfter
		}
	}
	return end
}

// CheckShown denies certificates that are too many or too large. It verifies none of them.
// Certificates stay in memory as long as their connection, so the TLS handshake should call it too.
// Every error is a [*Denied].
func CheckShown(presented []*x509.Certificate) error {
	if len(presented) > maxPresented {
		return deny(kubeletauth.RuleLimit, fmt.Sprintf("more than %d certificates were shown", maxPresented), nil)
	}
	size := 0
	for _, certificate := range presented {
		size += len(certificate.Raw)
	}
	if size > maxPresentedBytes {
		return deny(kubeletauth.RuleLimit,
			fmt.Sprintf("the certificates are larger than %d bytes together", maxPresentedBytes), nil)
	}
	return nil
}

// checkNames bounds the names in a certificate that is not verified yet.
func checkNames(subject pkix.Name) error {
	if len(subject.Organization) > maxGroups {
		return deny(kubeletauth.RuleLimit, fmt.Sprintf("the client certificate has more than %d organizations", maxGroups),
			nil)
	}
	size := len(subject.CommonName)
	for _, name := range subject.Organization {
		size += len(name)
	}
	if size > maxNames {
		return deny(kubeletauth.RuleLimit,
			fmt.Sprintf("the names in the client certificate are longer than %d bytes", maxNames), nil)
	}
	return nil
}

// keyOf returns a different key for each list of certificates. DER encodes its own length, so the
// concatenation is unambiguous.
func keyOf(presented []*x509.Certificate) (key reviewclient.Key) {
	hash := sha256.New()
	for _, certificate := range presented {
		hash.Write(certificate.Raw)
	}
	hash.Sum(key[:0])
	return key
}
