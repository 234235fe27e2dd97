// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"crypto/x509"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/internal/testpki"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/crl"
)

// heldFor verifies certificates with a client CA that can change.
type heldFor struct {
	*certificates
	roots *x509.CertPool
}

func newHeldFor(ca *testpki.CA, revoked *crl.Checker) *heldFor {
	h := &heldFor{roots: x509.NewCertPool()}
	h.roots.AddCert(ca.Certificate)
	h.certificates = newCertificates(func() (x509.VerifyOptions, bool) {
		return x509.VerifyOptions{Roots: h.roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, true
	}, revoked)
	return h
}

func (h *heldFor) accepts(t *testing.T, shown ...*x509.Certificate) bool {
	t.Helper()
	_, ok, err := h.AuthenticateRequest(testpki.Request(t, shown...))
	if ok == (err != nil) {
		t.Errorf("%v, %v", ok, err)
	}
	return ok
}

func TestVerificationIsCachedWhileTheCertificateIsValid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := testpki.NewCA(t, "ca")
		below := ca.Intermediate(t, "below")
		short := func(c *x509.Certificate) { c.NotAfter = time.Now().Add(time.Minute) }
		client := below.Client(t, "c", nil, short)
		h := newHeldFor(ca, nil)
		if !h.accepts(t, client, below.Certificate) {
			t.Error("not accepted")
		}
		if h.accepts(t, client) {
			t.Error("accepted without the certificate between")
		}
		if entries, _ := h.cached.Size(); entries != 1 {
			t.Errorf("%d held, want one", entries)
		}
		roots := h.roots
		h.roots = x509.NewCertPool()
		if h.accepts(t, client, below.Certificate) {
			t.Error("accepted although the client CA is another")
		}
		h.roots = roots
		time.Sleep(time.Minute - time.Second)
		if !h.accepts(t, client, below.Certificate) {
			t.Error("not accepted just before its end")
		}
		time.Sleep(2 * time.Second)
		if h.accepts(t, client, below.Certificate) {
			t.Error("accepted after its end")
		}
	})
}

func TestVerificationCacheExpiresWithTheCRL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := testpki.NewCA(t, "ca")
		client := ca.Client(t, "c", nil)
		path := filepath.Join(t.TempDir(), "crl")
		write(t, path, ca.CRL(t, nil))
		for _, row := range []struct {
			expired string
			want    bool
		}{{crl.Refuse, false}, {crl.Allow, true}} {
			expired, want := row.expired, row.want
			checker, err := crl.New(crl.Config{
				Options: crl.Options{CRL: []string{path}, Expired: expired}, ClientCA: ca.PEM,
				Registry: metrics.NewKubeRegistry(),
			})
			if err != nil {
				t.Fatal(err)
			}
			h := newHeldFor(ca, checker)
			if expired == crl.Refuse && !h.accepts(t, client) {
				t.Error("not accepted")
			}
			time.Sleep(time.Hour)
			if h.accepts(t, client) != want {
				t.Errorf("with an expired list and %s: accepted %v", expired, !want)
			}
		}
	})
}

// The same response or error means that the certificate was not verified again.
func TestSecondRequestGetsTheCachedResponse(t *testing.T) {
	ca := testpki.NewCA(t, "ca")
	h, req := newHeldFor(ca, nil), testpki.Request(t, ca.Client(t, "c", []string{"o"}))
	first, ok, err := h.AuthenticateRequest(req)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	if second, _, _ := h.AuthenticateRequest(req); second != first {
		t.Error("verified again")
	}
}

func TestDenialIsCachedUntilTheClientCAChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := testpki.NewCA(t, "ca")
		h := newHeldFor(testpki.NewCA(t, "ca"), nil)
		client := ca.Client(t, "c", nil)
		req := testpki.Request(t, client)
		_, ok, first := h.AuthenticateRequest(req)
		if ok || first == nil {
			t.Fatal(ok, first)
		}
		if _, _, second := h.AuthenticateRequest(req); !errors.Is(second, first) {
			t.Error("verified again")
		}
		h.roots = x509.NewCertPool()
		h.roots.AddCert(ca.Certificate)
		if !h.accepts(t, client) {
			t.Error("not accepted, although the client CA is its own now")
		}
	})
}
