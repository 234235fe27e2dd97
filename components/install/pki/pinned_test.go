// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// pinnedKeeper returns a keeper of one self-signed certificate. The test sets the time.
func pinnedKeeper(t *testing.T, now *time.Time) Rotator {
	t.Helper()
	dir := t.TempDir()
	return Rotator{
		Policy: Policy{Validity: 90 * time.Minute, RenewBefore: 30 * time.Minute},
		Now:    func() time.Time { return *now },
		Leaves: []Leaf{{
			Name: "client", Pair: testPair(dir, "client"), Trust: filepath.Join(dir, "trust.crt"),
			CommonName: "client", Usage: x509.ExtKeyUsageClientAuth, Mode: 0o640,
		}},
	}
}

// accepted verifies a certificate as the API server and the kubelet do (k8s.io/apiserver
// pkg/authentication/request/x509), with the current content of the file.
func accepted(t *testing.T, l Leaf, der []byte, now time.Time) bool {
	t.Helper()
	data, err := os.ReadFile(l.Trust)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(data) {
		t.Fatalf("%s has no certificate in it", l.Trust)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	_, err = cert.Verify(x509.VerifyOptions{
		Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err == nil
}

// inUse returns the certificate and key of the leaf on disk.
func inUse(t *testing.T, l Leaf) (*x509.Certificate, crypto.Signer) {
	t.Helper()
	cert, key, err := load(l.Pair)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func TestPinnedCertificate(t *testing.T) {
	now := begin
	k := pinnedKeeper(t, &now)
	renew(t, k, false)
	leaf := k.Leaves[0]
	cert, key := inUse(t, leaf)
	if cert.IsCA || !cert.BasicConstraintsValid || !cert.NotAfter.Equal(now.Add(k.Policy.Validity)) {
		t.Errorf("IsCA %v, basic constraints %v, NotAfter %v", cert.IsCA, cert.BasicConstraintsValid, cert.NotAfter)
	}
	twin := leaf
	twin.Pair = testPair(t.TempDir(), "twin")
	other, otherKey, err := twin.sign(now, k.Policy.Validity)
	if err != nil {
		t.Fatal(err)
	}
	signedBy := func(parent *x509.Certificate, by crypto.Signer, isCA bool) []byte {
		template, err := newTemplate(pkix.Name{CommonName: leaf.CommonName}, now, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
		template.IsCA, template.BasicConstraintsValid = isCA, true
		der, err := x509.CreateCertificate(rand.Reader, template, parent, otherKey.Public(), by)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	for _, tc := range []struct {
		name  string
		der   []byte
		later time.Duration
		want  bool
	}{
		{"the certificate: accepted", cert.Raw, 0, true},
		{"the certificate after its end: refused", cert.Raw, k.Policy.Validity + time.Second, false},
		{"another that signs itself, with the same name: refused", other, 0, false},
		{"one signed with the certificate's key: refused", signedBy(cert, key, false), 0, false},
		{"an authority signed with the certificate's key: refused", signedBy(cert, key, true), 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := accepted(t, leaf, tc.der, now.Add(tc.later)); got != tc.want {
				t.Errorf("accepted: %v, want %v", got, tc.want)
			}
		})
	}
}

func TestNoKeyOfAnAuthorityIsWritten(t *testing.T) {
	now := begin
	k := pinnedKeeper(t, &now)
	renew(t, k, false)
	now = now.Add(61 * time.Minute)
	renew(t, k, false)
	entries, err := os.ReadDir(filepath.Dir(k.Leaves[0].Trust))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(k.Leaves[0].Trust), entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if key := bytes.Contains(data, []byte("PRIVATE KEY")); key != (entry.Name() == "client.key") {
			t.Errorf("%s has a private key: %v", entry.Name(), key)
		}
	}
}

func TestANewPinnedCertificateIsAcceptedBeforeItIsInUse(t *testing.T) {
	now := begin
	k := pinnedKeeper(t, &now)
	leaf := k.Leaves[0]
	k.Accepted = func(tls.Certificate) error { t.Error("it waits although nothing is in use"); return nil }
	renew(t, k, false)
	former, _ := inUse(t, leaf)

	now = now.Add(61 * time.Minute)
	away := errors.New("the verifier is away")
	asked := 0
	k.Accepted = func(fresh tls.Certificate) error {
		asked++
		if cert, _ := inUse(t, leaf); !cert.Equal(former) {
			t.Error("the new certificate is in use already")
		}
		if !accepted(t, leaf, fresh.Certificate[0], now) || !accepted(t, leaf, former.Raw, now) {
			t.Error("the verifier does not accept both")
		}
		return away
	}
	if _, err := k.Renew(false); !errors.Is(err, away) || asked != 1 {
		t.Errorf("asked %d times, error is %v", asked, err)
	}
	if cert, _ := inUse(t, leaf); !cert.Equal(former) {
		t.Error("a new certificate that is not accepted is in use")
	}
	away = nil
	if got := renew(t, k, false); len(got) != 1 {
		t.Errorf("the next run renewed %v", got)
	}
	fresh, _ := inUse(t, leaf)
	if !accepted(t, leaf, former.Raw, now) || !accepted(t, leaf, fresh.Raw, now) {
		t.Error("the verifier does not accept both after the renewal")
	}

	for _, tc := range []struct {
		name   string
		later  time.Duration
		former bool
	}{
		{"at once", 0, true},
		{"within the overlap", pinnedOverlap - time.Second, true},
		{"after the overlap", time.Second, false},
	} {
		now = now.Add(tc.later)
		if got := renew(t, k, false); len(got) > 0 {
			t.Errorf("%s: renewed %v", tc.name, got)
		}
		if got := accepted(t, leaf, former.Raw, now); got != tc.former {
			t.Errorf("%s: the former certificate is accepted: %v, want %v", tc.name, got, tc.former)
		}
		if !accepted(t, leaf, fresh.Raw, now) {
			t.Errorf("%s: the certificate in use is refused", tc.name)
		}
	}
}

func TestAPinnedCertificateIsDue(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*testing.T, Leaf)
		due    bool
	}{
		{"no change: not due", func(*testing.T, Leaf) {}, false},
		{"one more is accepted: not due", func(t *testing.T, l Leaf) {
			cert, _ := inUse(t, l)
			other, _, err := l.sign(begin, time.Hour)
			if err := errors.Join(err, writeCerts(l.Trust, other, cert.Raw)); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"only another is accepted: due", func(t *testing.T, l Leaf) {
			other, _, err := l.sign(begin, time.Hour)
			if err := errors.Join(err, writeCerts(l.Trust, other)); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"the verifier's file is missing: due", func(t *testing.T, l Leaf) { remove(t, l.Trust) }, true},
		{"the key is missing: due", func(t *testing.T, l Leaf) { remove(t, l.KeyFile) }, true},
		{"an authority is accepted, and has signed it: due", func(t *testing.T, l Leaf) {
			l.Signer = testPair(filepath.Dir(l.Trust), "ca")
			if _, err := EnsureCA(l.Signer, "old", begin); err != nil {
				t.Fatal(err)
			}
			rename(t, l.Signer.CertFile, l.Trust)
			l.Signer.CertFile, l.Trust = l.Trust, ""
			renew(t, Rotator{
				Policy: Policy{Validity: time.Hour, RenewBefore: time.Minute}, Now: func() time.Time { return begin },
				Leaves: []Leaf{l},
			}, true)
		}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			now := begin
			k := pinnedKeeper(t, &now)
			renew(t, k, false)
			tc.change(t, k.Leaves[0])
			if got := renew(t, k, false); (len(got) == 1) != tc.due {
				t.Errorf("renewed %v, due: %v", got, tc.due)
			}
			cert, _ := inUse(t, k.Leaves[0])
			if !accepted(t, k.Leaves[0], cert.Raw, now) {
				t.Error("the certificate in use is refused")
			}
		})
	}
}
