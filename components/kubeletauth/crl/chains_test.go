// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crl

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/internal/testpki"
)

// If two roots have signed an intermediate CA, a client certificate has two chains. If a
// certificate is revoked in one chain, the other chain does not help. If a list is only expired in
// one chain, the other chain does help.
func TestOneRevokedChainIsEnough(t *testing.T) {
	one, two := testpki.NewCA(t, "one"), testpki.NewCA(t, "two")
	below := one.Intermediate(t, "below")
	crossed := two.Signed(t, below)
	client := below.Client(t, "c", nil)
	chains := [][]*x509.Certificate{{client, below.Certificate, one.Certificate}, {client, crossed, two.Certificate}}
	expired := func(l *x509.RevocationList) { l.NextUpdate = time.Now().Add(-time.Second) }
	for _, row := range []struct {
		name       string
		byOne, two []byte
		want       string
	}{
		{"no revoked certificate", one.CRL(t, nil), two.CRL(t, nil), ""},
		{"the first chain's CA is revoked", one.CRL(t, []*x509.Certificate{below.Certificate}), two.CRL(t, nil),
			`of "one" is revoked`},
		{"the second chain's CA is revoked", one.CRL(t, nil), two.CRL(t, []*x509.Certificate{crossed}),
			`of "two" is revoked`},
		{"one list has expired", one.CRL(t, nil, expired), two.CRL(t, nil), ""},
		{"both lists have expired", one.CRL(t, nil, expired), two.CRL(t, nil, expired), "the revocation list expired"},
		{"one has expired, and the other revokes", one.CRL(t, nil, expired), two.CRL(t, []*x509.Certificate{crossed}),
			`of "two" is revoked`},
		{"one has expired, and revokes", one.CRL(t, []*x509.Certificate{below.Certificate}, expired), two.CRL(t, nil),
			`of "one" is revoked`},
	} {
		for _, order := range []string{"", ", the other way round"} {
			t.Run(row.name+order, func(t *testing.T) {
				dir := t.TempDir()
				write(t, filepath.Join(dir, "one"), row.byOne)
				write(t, filepath.Join(dir, "two"), row.two)
				c := mustChecker(t, dir, Refuse, one.PEM(), two.PEM())
				asked := chains
				if order != "" {
					asked = [][]*x509.Certificate{chains[1], chains[0]}
				}
				until, err := c.Lists().Check(asked, time.Now())
				if got := fmt.Sprint(err); row.want == "" && err != nil || !strings.Contains(got, row.want) {
					t.Errorf("refused with %v, want %q", err, row.want)
				}
				if err == nil && until.IsZero() {
					t.Error("the answer has no end, and the lists have")
				}
			})
		}
	}
}

// A CA that signs under two names has one key. A certificate that this key revoked is revoked under
// both names. The list for the other name may be expired.
func TestAKeyUnderTwoNames(t *testing.T) {
	old := testpki.NewCA(t, "old")
	renamed := old.Renamed(t, "new")
	bad, good := old.Client(t, "bad", nil), old.Client(t, "good", nil)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "old"), old.CRL(t, nil))
	write(t, filepath.Join(dir, "new"),
		renamed.CRL(t, []*x509.Certificate{bad},
			func(l *x509.RevocationList) { l.NextUpdate = time.Now().Add(-time.Second) }))
	c := mustChecker(t, dir, Refuse, bytes.Join([][]byte{old.PEM(), renamed.PEM()}, nil))
	expect(t, c, `of "new" is revoked`, bad, old.Certificate)
	expect(t, c, "", good, old.Certificate)
}
