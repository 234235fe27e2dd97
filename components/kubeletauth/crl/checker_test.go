// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crl

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/internal/testpki"
)

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// replace replaces a file by a rename.
func replace(t *testing.T, path string, data []byte) {
	t.Helper()
	write(t, path+".new", data)
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func newChecker(t *testing.T, path, expired string, bundle ...[]byte) (*Checker, error) {
	t.Helper()
	return New(Config{
		Options:  Options{CRL: []string{path}, Expired: expired},
		ClientCA: func() []byte { return bytes.Join(bundle, nil) },
		Registry: metrics.NewKubeRegistry(),
	})
}

func mustChecker(t *testing.T, path, expired string, bundle ...[]byte) *Checker {
	t.Helper()
	c, err := newChecker(t, path, expired, bundle...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// expect checks a chain. want is "" for an accepted chain, or the text of the denial.
func expect(t *testing.T, c *Checker, want string, chain ...*x509.Certificate) {
	t.Helper()
	_, err := c.Lists().Check([][]*x509.Certificate{chain}, time.Now())
	if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) {
		t.Errorf("refused with %v, want %q", err, want)
	}
}

func TestListsAreReadInAnyForm(t *testing.T) {
	ca := testpki.NewCA(t, "ca")
	good, bad := ca.Client(t, "good", nil), ca.Client(t, "bad", nil)
	crl := ca.CRL(t, []*x509.Certificate{bad})
	other := testpki.NewCA(t, "other")
	otherCRL := other.CRL(t, nil)
	for _, row := range []struct {
		name  string
		files map[string][]byte
		path  string
	}{
		{"PEM in a file", map[string][]byte{"a": testpki.CRLPEM(crl)}, "a"},
		{"DER in a file", map[string][]byte{"a": crl}, "a"},
		{"several in one file", map[string][]byte{"a": append(testpki.CRLPEM(otherCRL), testpki.CRLPEM(crl)...)}, "a"},
		{"text around the PEM",
			map[string][]byte{"a": append([]byte("Certificate Revocation List (CRL):\n"), testpki.CRLPEM(crl)...)}, "a"},
		{"files in a folder", map[string][]byte{"a.pem": testpki.CRLPEM(otherCRL), "b.crl": crl}, ""},
		{"hidden files are left out", map[string][]byte{"a.pem": crl, ".b": []byte("junk")}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, data := range row.files {
				write(t, filepath.Join(dir, name), data)
			}
			c := mustChecker(t, filepath.Join(dir, row.path), Refuse, ca.PEM(), other.PEM())
			expect(t, c, "", good, ca.Certificate)
			expect(t, c, `of "ca" is revoked`, bad, ca.Certificate)
		})
	}
}

func TestListsThatCannotBeUsedAreRefused(t *testing.T) {
	ca, stranger, twin := testpki.NewCA(t, "ca"), testpki.NewCA(t, "stranger"), testpki.NewCA(t, "ca")
	below := stranger.Intermediate(t, "below")
	crl := func(tweak ...func(*x509.RevocationList)) []byte { return ca.CRL(t, nil, tweak...) }
	extension := func(critical bool, value []byte, id ...int) []byte {
		return crl(func(l *x509.RevocationList) {
			l.ExtraExtensions = []pkix.Extension{{Id: id, Critical: critical, Value: value}}
		})
	}
	entry := func(id ...int) []byte {
		return crl(func(l *x509.RevocationList) {
			l.RevokedCertificateEntries = []x509.RevocationListEntry{{SerialNumber: big.NewInt(7), RevocationTime: time.Now(),
				ExtraExtensions: []pkix.Extension{{Id: id, Critical: true, Value: []byte{5, 0}}}}}
		})
	}
	indirectPoint, err := asn1.Marshal(indirect{Indirect: true})
	if err != nil {
		t.Fatal(err)
	}
	tampered := bytes.Clone(crl())
	tampered[len(tampered)-1] ^= 1
	block := func(kind string) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: crl()}) }
	for _, row := range []struct {
		name string
		data []byte
		want string
	}{
		{"in order", crl(), ""},
		{"an extension that need not be understood", extension(false, []byte{5, 0}, 1, 2, 3), ""},
		{"empty", nil, "parsing a CRL"},
		{"junk", []byte("junk"), "parsing a CRL"},
		{"cut off", crl()[:100], "parsing a CRL"},
		{"PEM, cut off", testpki.CRLPEM(crl())[:100], "the PEM does not end"},
		{"PEM, the second cut off", append(testpki.CRLPEM(crl()), testpki.CRLPEM(crl())[:100]...),
			"the last block of the PEM does not end"},
		{"followed by something", append(crl(), 0), "1 bytes follow a CRL"},
		{"a key", block("PRIVATE KEY"), `the PEM has a block "PRIVATE KEY"`},
		{"invalid certificate", block("CERTIFICATE"), "parsing a CA certificate"},
		{"a certificate of a client", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Client(t, "c", nil).Raw}),
			`certificate "c" is not of a CA`},
		{"CA that no client CA has signed", below.PEM(), `no client CA vouches for intermediate CA "below"`},
		{"by a stranger", stranger.CRL(t, nil), `its issuer "CN=stranger" is not a client CA`},
		{"issuer is an unknown CA that is in the file", append(stranger.PEM(), testpki.CRLPEM(stranger.CRL(t, nil))...),
			"no client CA vouches"},
		{"by another of the same name", twin.CRL(t, nil), `the signature is not that of client CA "CN=ca"`},
		{"tampered with", tampered, "the signature is not that of client CA"},
		{"a delta", extension(true, []byte{2, 1, 1}, 2, 5, 29, 27), "it is a delta CRL"},
		{"indirect", extension(true, indirectPoint, 2, 5, 29, 28), "it is an indirect CRL"},
		{"indirect, by an entry", entry(2, 5, 29, 29), "it is an indirect CRL"},
		{"for a part", extension(true, []byte{0x30, 0}, 2, 5, 29, 28), "it has an issuing distribution point"},
		{"for a part, not critical", extension(false, []byte("junk"), 2, 5, 29, 28), "it has an issuing distribution point"},
		{"an extension that has to be understood", extension(true, []byte{5, 0}, 1, 2, 3),
			"unknown critical extension 1.2.3"},
		{"an entry that has to be understood", entry(1, 2, 3), "unknown critical extension 1.2.3"},
		{"from a clock that is a little ahead",
			crl(func(l *x509.RevocationList) { l.ThisUpdate = time.Now().Add(clockSkew - time.Minute) }), ""},
		{"from the future", crl(func(l *x509.RevocationList) { l.ThisUpdate = time.Now().Add(clockSkew + time.Minute) }),
			"it is from the future"},
		{"too large", append(testpki.CRLPEM(crl()), bytes.Repeat([]byte("\n"), maxBytes)...),
			"the files together are larger than"},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "crl")
			write(t, path, row.data)
			_, err := newChecker(t, path, Refuse, ca.PEM())
			if got := fmt.Sprint(err); row.want == "" && err != nil || !strings.Contains(got, row.want) {
				t.Errorf("error %v, want %q", err, row.want)
			}
		})
	}
}

func TestNoFileOfListsIsAnError(t *testing.T) {
	ca, dir := testpki.NewCA(t, "ca"), t.TempDir()
	if _, err := newChecker(t, filepath.Join(dir, "none"), Refuse, ca.PEM()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := newChecker(t, dir, Refuse, ca.PEM()); err != nil {
		t.Errorf("an empty folder: %v", err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := newChecker(t, dir, Refuse, ca.PEM()); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a pipe: %v", err)
	}
	for i := range maxFiles + 1 {
		write(t, filepath.Join(dir, fmt.Sprint(i)), nil)
	}
	if _, err := newChecker(t, dir, Refuse, ca.PEM()); err == nil || !strings.Contains(err.Error(), "want at most 64") {
		t.Errorf("many files: %v", err)
	}
}

// The list of an issuer does not affect certificates of another issuer with the same serial number.
func TestEachCertificateIsInTheListOfItsIssuer(t *testing.T) {
	root, other := testpki.NewCA(t, "root"), testpki.NewCA(t, "root")
	good, bad := root.Intermediate(t, "good"), root.Intermediate(t, "bad")
	client, revoked := good.Client(t, "client", nil), good.Client(t, "revoked", nil)
	ofBad, ofOther := bad.Client(t, "of-bad", nil),
		other.Client(t, "client", nil, func(c *x509.Certificate) { c.SerialNumber = bad.Certificate.SerialNumber })
	dir := t.TempDir()
	write(t, filepath.Join(dir, "root.crl"), root.CRL(t, []*x509.Certificate{bad.Certificate}))
	write(t, filepath.Join(dir, "good.crl"), good.CRL(t, []*x509.Certificate{revoked}))
	write(t, filepath.Join(dir, "intermediates.pem"), append(good.PEM(), bad.PEM()...))
	c := mustChecker(t, dir, Refuse, root.PEM(), other.PEM())
	expect(t, c, "", client, good.Certificate, root.Certificate)
	expect(t, c, `of "good" is revoked`, revoked, good.Certificate, root.Certificate)
	expect(t, c, `of "root" is revoked`, ofBad, bad.Certificate, root.Certificate)
	expect(t, c, "", ofOther, other.Certificate)
	expect(t, c, "", root.Certificate)
	expect(t, c, "")
}

func TestTheNewestListDecides(t *testing.T) {
	ca := testpki.NewCA(t, "ca")
	first, second := ca.Client(t, "first", nil), ca.Client(t, "second", nil)
	for _, row := range []struct {
		name          string
		number        int64
		age           time.Duration
		secondRevoked bool
	}{
		{"a higher number", 2, time.Hour, true},
		{"a lower number", 0, 0, false},
		{"the same number, younger", 1, 0, true},
		{"the same number, older", 1, time.Hour, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "a"), ca.CRL(t, []*x509.Certificate{first}))
			write(t, filepath.Join(dir, "b"), ca.CRL(t, []*x509.Certificate{second}, func(l *x509.RevocationList) {
				l.Number, l.ThisUpdate = big.NewInt(row.number), time.Now().Add(-row.age)
			}))
			c := mustChecker(t, dir, Refuse, ca.PEM())
			revoked, fine := second, first
			if !row.secondRevoked {
				revoked, fine = first, second
			}
			expect(t, c, "is revoked", revoked, ca.Certificate)
			expect(t, c, "", fine, ca.Certificate)
		})
	}
}

func TestAnExpiredList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := testpki.NewCA(t, "ca")
		good, bad := ca.Client(t, "good", nil), ca.Client(t, "bad", nil)
		path := filepath.Join(t.TempDir(), "crl")
		write(t, path, ca.CRL(t, []*x509.Certificate{bad}))
		closed, open := mustChecker(t, path, Refuse, ca.PEM()), mustChecker(t, path, Allow, ca.PEM())
		time.Sleep(time.Hour - time.Second)
		expect(t, closed, "", good, ca.Certificate)
		if until, _ := closed.Lists().Check([][]*x509.Certificate{{good, ca.Certificate}},
			time.Now()); !until.Equal(time.Now().Add(time.Second)) {
			t.Errorf("holds until %v, want the end of the list", until)
		}
		if until, _ := open.Lists().Check([][]*x509.Certificate{{good, ca.Certificate}}, time.Now()); !until.IsZero() {
			t.Errorf("holds until %v, want for good", until)
		}
		time.Sleep(time.Second)
		expect(t, closed, "the revocation list expired at", good, ca.Certificate)
		expect(t, closed, "is revoked", bad, ca.Certificate)
		expect(t, open, "", good, ca.Certificate)
		expect(t, open, "is revoked", bad, ca.Certificate)
		_, err := closed.Lists().Check([][]*x509.Certificate{{good, ca.Certificate}}, time.Now())
		if !errors.Is(err, ErrExpired) {
			t.Errorf("refused with %#v", err)
		}
	})
}
