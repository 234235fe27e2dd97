// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crl

import (
	"crypto/x509"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"

	"github.com/bulkhead-k8s/bulkhead/components/internal/testpki"
)

// at is a list with this number, issued this many seconds after begun.
func at(begun time.Time, number, seconds int64) func(*x509.RevocationList) {
	return func(l *x509.RevocationList) {
		l.Number, l.ThisUpdate = big.NewInt(number), begun.Add(time.Duration(seconds)*time.Second)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// The removal of a list does not make the certificates that it revoked valid again.
func TestAListIsKeptUntilThereIsANewerOne(t *testing.T) {
	begun := time.Now().Add(-time.Hour)
	for _, row := range []struct {
		name string
		// change replaces file a, which has the list of CA a that revokes the certificate.
		change  func(t *testing.T, dir string, a, b *testpki.CA)
		want    string
		missing float64
	}{
		{"the file is removed", func(t *testing.T, dir string, _, _ *testpki.CA) { remove(t, filepath.Join(dir, "a")) },
			"is revoked", 1},
		{"an older list comes back", func(t *testing.T, dir string, a, _ *testpki.CA) {
			replace(t, filepath.Join(dir, "a"), a.CRL(t, nil, at(begun, 1, 0)))
		}, "is revoked", 1},
		{"an older list of the same second comes back", func(t *testing.T, dir string, a, _ *testpki.CA) {
			replace(t, filepath.Join(dir, "a"), a.CRL(t, nil, at(begun, 1, 1)))
		}, "is revoked", 1},
		{"the file has the list of another CA now", func(t *testing.T, dir string, _, b *testpki.CA) {
			replace(t, filepath.Join(dir, "a"), b.CRL(t, nil))
		}, "is revoked", 1},
		{"a newer list is in another file", func(t *testing.T, dir string, a, _ *testpki.CA) {
			remove(t, filepath.Join(dir, "a"))
			write(t, filepath.Join(dir, "z"), a.CRL(t, nil, at(begun, 3, 2)))
		}, "", 0},
		{"the same list is in another file", func(t *testing.T, dir string, _, _ *testpki.CA) {
			if err := os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "z")); err != nil {
				t.Fatal(err)
			}
		}, "is revoked", 0},
		{"the CA has begun to count anew", func(t *testing.T, dir string, a, _ *testpki.CA) {
			replace(t, filepath.Join(dir, "a"), a.CRL(t, nil, at(begun, 1, 2)))
		}, "", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			a, b, dir := testpki.NewCA(t, "a"), testpki.NewCA(t, "b"), t.TempDir()
			client := a.Client(t, "c", nil)
			write(t, filepath.Join(dir, "a"), a.CRL(t, []*x509.Certificate{client}, at(begun, 2, 1)))
			c := mustChecker(t, dir, Refuse, a.PEM(), b.PEM())
			row.change(t, dir, a, b)
			for range 2 {
				if err := c.RunOnce(); (err != nil) != (row.missing > 0) || err != nil &&
					!strings.Contains(err.Error(), `the list of CA "a" is gone`) {
					t.Errorf("error %v", err)
				}
				expect(t, c, row.want, client, a.Certificate)
				if got, err := testutil.GetGaugeMetricValue(c.metrics.missing); err != nil || got != row.missing {
					t.Errorf("%v missing (%v), want %v", got, err, row.missing)
				}
			}
		})
	}
}

// The list of an intermediate CA is kept together with the certificates that connect it to a client
// CA. It is dropped when that client CA is no longer trusted.
func TestAListOfAnIntermediateCAIsKept(t *testing.T) {
	root, next, dir := testpki.NewCA(t, "root"), testpki.NewCA(t, "next"), t.TempDir()
	below := root.Intermediate(t, "below")
	client := below.Client(t, "c", nil)
	bundle := root.PEM()
	write(t, filepath.Join(dir, "a"), append(below.PEM(), testpki.CRLPEM(below.CRL(t, []*x509.Certificate{client}))...))
	c, err := New(Config{Options: Options{CRL: []string{dir}, Expired: Refuse}, ClientCA: func() []byte { return bundle },
		Registry: metrics.NewKubeRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	remove(t, filepath.Join(dir, "a"))
	for range 2 {
		if err := c.RunOnce(); err == nil {
			t.Error("a list that is gone is no error")
		}
		expect(t, c, "is revoked", client, below.Certificate)
	}
	bundle = next.PEM()
	if err := c.RunOnce(); err != nil || len(c.missing) > 0 {
		t.Errorf("the list of a CA that is trusted no longer is missed: %v, %v", err, c.missing)
	}
}
