// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crl

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"

	"github.com/bulkhead-k8s/bulkhead/components/internal/testpki"
)

func TestListsAreFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := testpki.NewCA(t, "ca")
		client := ca.Client(t, "client", nil)
		dir := t.TempDir()
		path := filepath.Join(dir, "crl")
		write(t, path, ca.CRL(t, nil))
		for _, where := range []string{path, dir} {
			c := mustChecker(t, where, Refuse, ca.PEM())
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); c.Run(ctx) }()
			step := func(what, want string, change func()) *Lists {
				change()
				time.Sleep(rereadInterval)
				synctest.Wait()
				t.Log(what)
				expect(t, c, want, client, ca.Certificate)
				return c.Lists()
			}
			number := func(n int64) func(*x509.RevocationList) {
				return func(l *x509.RevocationList) { l.Number = big.NewInt(n) }
			}
			revoked := []*x509.Certificate{client}
			before := c.Lists()
			if got := step("nothing has changed", "", func() {}); got != before {
				t.Error("other lists, although nothing has changed")
			}
			step("revoked", "is revoked", func() { replace(t, path, testpki.CRLPEM(ca.CRL(t, revoked, number(2)))) })
			step("half of a file", "is revoked", func() { write(t, path, testpki.CRLPEM(ca.CRL(t, nil, number(3)))[:90]) })
			if c.RunOnce() == nil {
				t.Error("half of a file is no error")
			}
			step("no longer revoked", "", func() { replace(t, path, ca.CRL(t, nil, number(4))) })
			if err := c.RunOnce(); err != nil {
				t.Error(err)
			}
			step("revoked, in place", "is revoked", func() { write(t, path, ca.CRL(t, revoked, number(5))) })
			step("by a stranger", "is revoked", func() { replace(t, path, testpki.NewCA(t, "x").CRL(t, nil)) })
			replace(t, path, ca.CRL(t, nil))
			cancel()
			<-done
		}
	})
}

// An invalid file does not stop the reload of the others.
func TestFilesAreFollowedOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := testpki.NewCA(t, "a"), testpki.NewCA(t, "b")
		ofA, ofB := a.Client(t, "of-a", nil), b.Client(t, "of-b", nil)
		dir := t.TempDir()
		write(t, filepath.Join(dir, "a"), a.CRL(t, []*x509.Certificate{ofA}))
		write(t, filepath.Join(dir, "b"), b.CRL(t, nil))
		c := mustChecker(t, dir, Refuse, a.PEM(), b.PEM())
		write(t, filepath.Join(dir, "a"), []byte("junk"))
		write(t, filepath.Join(dir, "b"),
			b.CRL(t, []*x509.Certificate{ofB}, func(l *x509.RevocationList) { l.Number = big.NewInt(2) }))
		if err := c.RunOnce(); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "a")) {
			t.Errorf("error %v", err)
		}
		expect(t, c, "is revoked", ofA, a.Certificate)
		expect(t, c, "is revoked", ofB, b.Certificate)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := c.RunOnce(); err == nil {
			t.Error("no folder is no error")
		}
		expect(t, c, "is revoked", ofB, b.Certificate)
	})
}

func TestListsFollowTheClientCA(t *testing.T) {
	old, next := testpki.NewCA(t, "ca"), testpki.NewCA(t, "ca")
	client := next.Client(t, "client", nil)
	dir, bundle := t.TempDir(), old.PEM()
	write(t, filepath.Join(dir, "old"), old.CRL(t, nil))
	c, err := New(Config{Options: Options{CRL: []string{dir}, Expired: Refuse}, ClientCA: func() []byte { return bundle },
		Registry: metrics.NewKubeRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "next"), next.CRL(t, []*x509.Certificate{client}))
	if err := c.RunOnce(); err == nil {
		t.Error("a list of no client CA is no error")
	}
	expect(t, c, "", client, next.Certificate)
	bundle = append(bundle, next.PEM()...)
	if err := c.RunOnce(); err != nil {
		t.Error(err)
	}
	expect(t, c, "is revoked", client, next.Certificate)
}

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := testpki.NewCA(t, "ca")
		bad := ca.Client(t, "bad", nil)
		path := filepath.Join(t.TempDir(), "crl")
		write(t, path, ca.CRL(t, []*x509.Certificate{bad}))
		registry := metrics.NewKubeRegistry()
		c, err := New(Config{Options: Options{CRL: []string{path}, Expired: Refuse}, ClientCA: ca.PEM, Registry: registry})
		if err != nil {
			t.Fatal(err)
		}
		expect(t, c, "is revoked", bad, ca.Certificate)
		time.Sleep(2 * time.Hour)
		expect(t, c, "expired", ca.Client(t, "good", nil), ca.Certificate)
		write(t, path, nil)
		if c.RunOnce() == nil {
			t.Error("an empty file is no error")
		}
		key := issuerOf(ca.Certificate)
		labels := fmt.Sprintf(`{issuer="ca",key="%x"}`, key[:4])
		// The time in a synctest bubble begins with the year 2000.
		want := `
# HELP bulkhead_kubelet_crl_entries [ALPHA] Certificates that the list revokes.
# TYPE bulkhead_kubelet_crl_entries gauge
bulkhead_kubelet_crl_entries` + labels + ` 1
# HELP bulkhead_kubelet_crl_failed_files [ALPHA] Files with certificate revocation lists ` +
			`that could not be used when they were last read. The last valid ones are in use.
# TYPE bulkhead_kubelet_crl_failed_files gauge
bulkhead_kubelet_crl_failed_files 1
# HELP bulkhead_kubelet_crl_missing_lists [ALPHA] Certificate revocation lists ` +
			`that are in use although no file has them any more, nor a newer one of their CA.
# TYPE bulkhead_kubelet_crl_missing_lists gauge
bulkhead_kubelet_crl_missing_lists 0
# HELP bulkhead_kubelet_crl_next_update_timestamp_seconds [ALPHA] When the certificate revocation list expires, ` +
			`in seconds since 1970.
# TYPE bulkhead_kubelet_crl_next_update_timestamp_seconds gauge
bulkhead_kubelet_crl_next_update_timestamp_seconds` + labels + ` 9.466884e+08
# HELP bulkhead_kubelet_crl_refusals_total [ALPHA] Client certificates denied, ` +
			`because they are revoked or because the list of their issuer has expired. ` +
			`One that is presented again within 10 s may count once.
# TYPE bulkhead_kubelet_crl_refusals_total counter
bulkhead_kubelet_crl_refusals_total{reason="expired"} 1
bulkhead_kubelet_crl_refusals_total{reason="revoked"} 1
# HELP bulkhead_kubelet_crl_state_failed [ALPHA] 1 if the newest certificate revocation lists ` +
			`could not be written to --client-crl-state. A restart may then take an older one.
# TYPE bulkhead_kubelet_crl_state_failed gauge
bulkhead_kubelet_crl_state_failed 0
# HELP bulkhead_kubelet_crl_this_update_timestamp_seconds [ALPHA] When the certificate revocation list was made, ` +
			`in seconds since 1970. Its age is the time since then.
# TYPE bulkhead_kubelet_crl_this_update_timestamp_seconds gauge
bulkhead_kubelet_crl_this_update_timestamp_seconds` + labels + ` 9.4668474e+08
`
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
			t.Error(err)
		}
	})
}

func TestValidate(t *testing.T) {
	for _, row := range []struct {
		expired string
		wrong   bool
	}{{Refuse, false}, {Allow, false}, {"", true}, {"Refuse", true}} {
		if problems := (&Options{Expired: row.expired}).Validate(); len(problems) > 0 != row.wrong {
			t.Errorf("%q: %v", row.expired, problems)
		}
	}
}

// FuzzLists parses random bytes and verifies them with a CA.
func FuzzLists(f *testing.F) {
	ca := testpki.NewCA(f, "ca")
	client := ca.Client(f, "client", nil)
	crl := ca.CRL(f, []*x509.Certificate{client})
	signed, err := x509.ParseRevocationList(crl)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(crl)
	f.Add(testpki.CRLPEM(crl))
	f.Add(ca.PEM())
	f.Add([]byte("-----BEGIN X509 CRL-----\n-----END X509 CRL-----\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		found, err := decode(data)
		if err != nil {
			return
		}
		signers := newSigners(ca.PEM(), map[string]content{"x": found}, nil)
		good, err := signers.verify(found, time.Now())
		if err != nil {
			return
		}
		for _, l := range good.lists {
			if l.digest != sha256.Sum256(signed.RawTBSRevocationList) {
				t.Errorf("took a list that the CA has not signed: %x", data)
			}
		}
	})
}
