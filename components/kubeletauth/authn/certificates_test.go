// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/bulkhead-k8s/bulkhead/components/internal/testpki"
)

func TestCertificatesAreBounded(t *testing.T) {
	w := newWorld(t)
	groups := func(n int) []string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprint("group-", i)
		}
		return all
	}
	client := func(name string, groups []string) []*x509.Certificate {
		return []*x509.Certificate{w.ca.Client(t, name, groups)}
	}
	large := func(size int) []*x509.Certificate {
		return []*x509.Certificate{w.ca.Client(t, "c", nil, func(c *x509.Certificate) {
			c.ExtraExtensions = []pkix.Extension{{Id: []int{1, 2, 3}, Value: make([]byte, size)}}
		})}
	}
	one := client("c", nil)
	for _, row := range []struct {
		name  string
		shown []*x509.Certificate
		want  string
	}{
		{"1,000 organizations", client("c", groups(1000)), "c"},
		{"1,001 organizations", client("c", groups(1001)),
			"Unauthorized: the client certificate has more than 1000 organizations [KA-LIMIT-1]"},
		{"10,000 organizations", client("c", groups(10_000)),
			"Unauthorized: the certificates are larger than 49152 bytes together [KA-LIMIT-1]"},
		{"a long organization", client("c", []string{strings.Repeat("o", 32<<10)}),
			"Unauthorized: the names in the client certificate are longer than 32768 bytes [KA-LIMIT-1]"},
		{"a long name", client(strings.Repeat("n", 32<<10+1), nil),
			"Unauthorized: the names in the client certificate are longer than 32768 bytes [KA-LIMIT-1]"},
		{"47 KiB of something", large(47 << 10), "c"},
		{"48 KiB of something", large(48 << 10),
			"Unauthorized: the certificates are larger than 49152 bytes together [KA-LIMIT-1]"},
		{"half of it in another certificate", append(large(30<<10), large(30<<10)...),
			"Unauthorized: the certificates are larger than 49152 bytes together [KA-LIMIT-1]"},
		{"ten certificates", append(one[:1:1], make10(one[0], 9)...), "c"},
		{"eleven certificates", append(one[:1:1], make10(one[0], 10)...),
			"Unauthorized: more than 10 certificates were shown [KA-LIMIT-1]"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w.expect(t, testpki.Request(t, row.shown...), row.want)
		})
	}
}

func make10(certificate *x509.Certificate, n int) (all []*x509.Certificate) {
	for range n {
		all = append(all, certificate)
	}
	return all
}

// A revoked certificate is denied even if a valid token is present, or if the certificate is
// cached.
func TestRevokedCertificates(t *testing.T) {
	w := newWorld(t)
	below := w.ca.Intermediate(t, "below")
	good, bad, ofBelow := w.ca.Client(t, "good", nil), w.ca.Client(t, "bad", nil), below.Client(t, "of-below", nil)
	all := func(badWant, belowWant string) {
		t.Helper()
		w.expect(t, testpki.Request(t, good), "good")
		w.expect(t, testpki.Request(t, bad), badWant)
		w.expect(t, testpki.Request(t, ofBelow, below.Certificate), belowWant)
	}
	all("bad", "of-below")
	write(t, w.crlFile, w.ca.CRL(t, []*x509.Certificate{bad, below.Certificate},
		func(l *x509.RevocationList) { l.Number = big.NewInt(2) }))
	if err := w.revoked.RunOnce(); err != nil {
		t.Fatal(err)
	}
	text := func(c *x509.Certificate) string {
		return fmt.Sprintf("Unauthorized: certificate %x of %q is revoked [KA-CRL-1]", c.SerialNumber, "ca")
	}
	all(text(bad), text(below.Certificate))
	w.expect(t, bearer(t, apiToken, bad), text(bad))
	w.expect(t, protocols(testpki.Request(t, bad), "v5.channel.k8s.io", inProtocol(apiToken)), text(bad))
	w.expect(t, bearer(t, apiToken, good), "good")
}

// The client CA of kubelets is replaced by a rename or by a change of a symbolic link. If a file is
// incomplete, the last good one stays in use.
func TestTheClientCAIsFollowed(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	w := newWorld(t, func(c *Config) { c.Revocation.CRL = nil })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.Run(ctx) }()
	old := w.ca.Client(t, "old", nil)
	w.expect(t, testpki.Request(t, old), "old")
	next := testpki.NewCA(t, "ca")
	client := next.Client(t, "new", nil)
	w.expect(t, testpki.Request(t, client), badCertificate)

	write(t, w.caFile, next.PEM()[:100])
	if err := w.clientCA.RunOnce(ctx); err == nil {
		t.Error("half of a file is no error")
	}
	w.expect(t, testpki.Request(t, old), "old")

	write(t, w.caFile+".new", next.PEM())
	if err := os.Rename(w.caFile+".new", w.caFile); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); w.outcome(t, testpki.Request(t, client)) != "new"; {
		if time.Now().After(deadline) {
			t.Fatal("the renamed file was not seen")
		}
		time.Sleep(20 * time.Millisecond)
	}
	w.expect(t, testpki.Request(t, old), badCertificate)
	cancel()
	<-done
}

// A change of a symbolic link to a directory causes no file event.
func TestASwappedFolderIsRead(t *testing.T) {
	dir := t.TempDir()
	first, second := testpki.NewCA(t, "ca"), testpki.NewCA(t, "ca")
	for name, ca := range map[string]*testpki.CA{"1": first, "2": second} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name, "ca.crt"), ca.PEM())
	}
	link := filepath.Join(dir, "current")
	if err := os.Symlink("1", link); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(c *Config) { c.ClientCAFile, c.Revocation.CRL = filepath.Join(link, "ca.crt"), nil })
	w.expect(t, testpki.Request(t, first.Client(t, "c", nil)), "c")
	if err := os.Symlink("2", link+".new"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(link+".new", link); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); wait.UntilWithContext(ctx, w.reread, time.Millisecond) }()
	for deadline := time.Now().Add(20 * time.Second); w.outcome(t,
		testpki.Request(t, second.Client(t, "d", nil))) != "d"; {
		if time.Now().After(deadline) {
			t.Fatal("the other folder was not seen")
		}
	}
	cancel()
	<-done
}

// Two client CAs have signed an intermediate CA. If one of them revokes it, it is revoked.
func TestCrossSignedCAs(t *testing.T) {
	other := testpki.NewCA(t, "other")
	w := newWorld(t)
	write(t, w.caFile, append(w.ca.PEM(), other.PEM()...))
	if err := w.clientCA.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	below := w.ca.Intermediate(t, "below")
	crossed := other.Signed(t, below)
	client := below.Client(t, "c", nil)
	shown := testpki.Request(t, client, crossed, below.Certificate)
	w.expect(t, shown, "c")
	write(t, w.crlFile, w.ca.CRL(t, []*x509.Certificate{below.Certificate},
		func(l *x509.RevocationList) { l.Number = big.NewInt(2) }))
	if err := w.revoked.RunOnce(); err != nil {
		t.Fatal(err)
	}
	w.expect(t, shown, fmt.Sprintf("Unauthorized: certificate %x of %q is revoked [KA-CRL-1]",
		below.Certificate.SerialNumber, "ca"))
}
