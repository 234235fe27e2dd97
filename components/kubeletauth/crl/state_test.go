// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crl

import (
	"bytes"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"

	"github.com/bulkhead-k8s/bulkhead/components/internal/testpki"
)

// started returns the Checker of a proxy that has just started, with a state folder.
func started(state, lists string, bundle []byte) (*Checker, error) {
	return New(Config{
		Options:  Options{CRL: []string{lists}, Expired: Refuse, State: state},
		ClientCA: func() []byte { return bundle }, Registry: metrics.NewKubeRegistry(),
	})
}

func mustStart(t *testing.T, state, lists string, bundle []byte) *Checker {
	t.Helper()
	c, err := started(state, lists, bundle)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, filepath.Join(dir, entry.Name()))
	}
	return names
}

// A restart does not make revoked certificates valid again.
func TestAListIsKeptOverARestart(t *testing.T) {
	begun := time.Now().Add(-time.Hour)
	for _, row := range []struct {
		name    string
		change  func(t *testing.T, file string, a *testpki.CA)
		want    string
		missing float64
	}{
		{"the file is the same", func(*testing.T, string, *testpki.CA) {}, "is revoked", 0},
		{"the file is removed", func(t *testing.T, file string, _ *testpki.CA) { remove(t, file) }, "is revoked", 1},
		{"an older list is in its place", func(t *testing.T, file string, a *testpki.CA) {
			replace(t, file, a.CRL(t, nil, at(begun, 1, 0)))
		}, "is revoked", 1},
		{"a newer list is in its place", func(t *testing.T, file string, a *testpki.CA) {
			replace(t, file, a.CRL(t, nil, at(begun, 3, 2)))
		}, "", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			a, lists, state := testpki.NewCA(t, "a"), t.TempDir(), t.TempDir()
			client, file := a.Client(t, "c", nil), filepath.Join(lists, "a")
			write(t, file, a.CRL(t, []*x509.Certificate{client}, at(begun, 2, 1)))
			mustStart(t, state, lists, a.PEM())
			row.change(t, file, a)
			for range 2 { // twice: missing lists are saved again
				c := mustStart(t, state, lists, a.PEM())
				expect(t, c, row.want, client, a.Certificate)
				if got, err := testutil.GetGaugeMetricValue(c.metrics.missing); err != nil || got != row.missing {
					t.Errorf("%v missing (%v), want %v", got, err, row.missing)
				}
				if err := c.RunOnce(); (err != nil) != (row.missing > 0) {
					t.Errorf("error %v", err)
				}
			}
		})
	}
}

func TestAListOfAnIntermediateCAIsKeptOverARestart(t *testing.T) {
	root, lists, state := testpki.NewCA(t, "root"), t.TempDir(), t.TempDir()
	below := root.Intermediate(t, "below")
	client, file := below.Client(t, "c", nil), filepath.Join(lists, "a")
	write(t, file, append(below.PEM(), testpki.CRLPEM(below.CRL(t, []*x509.Certificate{client}))...))
	mustStart(t, state, lists, root.PEM())
	remove(t, file)
	expect(t, mustStart(t, state, lists, root.PEM()), "is revoked", client, below.Certificate)
}

// The state has one file for each CA, whatever else changes. It has no file of a CA that is no
// longer trusted.
func TestTheStateFollowsTheLists(t *testing.T) {
	a, b, lists, state := testpki.NewCA(t, "a"), testpki.NewCA(t, "b"), t.TempDir(), t.TempDir()
	write(t, filepath.Join(lists, "a"), a.CRL(t, nil))
	bundle := bytes.Join([][]byte{a.PEM(), b.PEM()}, nil)
	c, err := New(Config{
		Options:  Options{CRL: []string{lists}, Expired: Refuse, State: state},
		ClientCA: func() []byte { return bundle }, Registry: metrics.NewKubeRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ofA := filesIn(t, state)
	write(t, filepath.Join(lists, "b"), b.CRL(t, nil))
	if err := c.RunOnce(); err != nil || len(ofA) != 1 || len(filesIn(t, state)) != 2 {
		t.Errorf("%v: %v, then %v", err, ofA, filesIn(t, state))
	}
	// The lists are the same, but are read again.
	write(t, filepath.Join(lists, "c"), testpki.CRLPEM(b.CRL(t, nil)))
	if err := c.RunOnce(); err != nil || len(filesIn(t, state)) != 2 {
		t.Errorf("%v: %v, want two files", err, filesIn(t, state))
	}
	remove(t, filepath.Join(lists, "b"))
	remove(t, filepath.Join(lists, "c"))
	bundle = a.PEM()
	if err := c.RunOnce(); err != nil || len(filesIn(t, state)) != 1 || filesIn(t, state)[0] != ofA[0] {
		t.Errorf("%v: %v, want %v", err, filesIn(t, state), ofA)
	}
}

// A CA that was replaced while the program was stopped does not prevent its start.
func TestTheListOfACAThatIsNotTrustedAnyMoreIsDropped(t *testing.T) {
	a, b, lists, state := testpki.NewCA(t, "a"), testpki.NewCA(t, "b"), t.TempDir(), t.TempDir()
	write(t, filepath.Join(lists, "a"), a.CRL(t, nil))
	mustStart(t, state, lists, a.PEM())
	remove(t, filepath.Join(lists, "a"))
	mustStart(t, state, lists, b.PEM())
	if left := filesIn(t, state); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// An unreadable file could contain a newer list.
func TestAStateThatCannotBeReadIsAnError(t *testing.T) {
	a, lists := testpki.NewCA(t, "a"), t.TempDir()
	write(t, filepath.Join(lists, "a"), a.CRL(t, nil))
	tampered := bytes.Clone(a.CRL(t, nil))
	tampered[len(tampered)-1] ^= 1
	for name, data := range map[string][]byte{
		"junk": []byte("junk"), "empty": nil, "cut off": a.CRL(t, nil)[:100], "tampered with": tampered,
		"no list in it": a.PEM(),
	} {
		t.Run(name, func(t *testing.T) {
			state := t.TempDir()
			file := filepath.Join(state, "x.crl")
			write(t, file, data)
			_, err := started(state, lists, a.PEM())
			if err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "delete the file") {
				t.Errorf("error %v", err)
			}
			remove(t, file)
			mustStart(t, state, lists, a.PEM())
		})
	}
	if _, err := started(filepath.Join(t.TempDir(), "none"), lists, a.PEM()); err == nil {
		t.Error("no folder is no error")
	}
}

// If the folder is not writable, that is reported, and revoked certificates stay denied.
func TestAStateThatCannotBeWritten(t *testing.T) {
	a, lists, state := testpki.NewCA(t, "a"), t.TempDir(), filepath.Join(t.TempDir(), "state")
	client := a.Client(t, "c", nil)
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(lists, "a"), a.CRL(t, nil))
	c := mustStart(t, state, lists, a.PEM())
	if err := os.RemoveAll(state); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(lists, "a"), a.CRL(t, []*x509.Certificate{client}, at(time.Now(), 2, 0)))
	if err := c.RunOnce(); err == nil || !strings.Contains(err.Error(), "cannot save the newest") {
		t.Errorf("error %v", err)
	}
	if got, err := testutil.GetGaugeMetricValue(c.metrics.unsaved); err != nil || got != 1 {
		t.Errorf("metric %v (%v), want 1", got, err)
	}
	expect(t, c, "is revoked", client, a.Certificate)
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := c.RunOnce(); err != nil {
		t.Errorf("the folder is back: %v", err)
	}
	if got, err := testutil.GetGaugeMetricValue(c.metrics.unsaved); err != nil || got != 0 || len(filesIn(t, state)) != 1 {
		t.Errorf("metric %v (%v), files %v", got, err, filesIn(t, state))
	}
}
