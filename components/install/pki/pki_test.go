// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func testPair(dir, name string) Pair {
	return Pair{CertFile: filepath.Join(dir, name+".crt"), KeyFile: filepath.Join(dir, name+".key")}
}

// testKeeper returns a keeper of one serving and one client certificate. The test sets the time.
func testKeeper(t *testing.T, now *time.Time) Rotator {
	t.Helper()
	dir := t.TempDir()
	ca := testPair(dir, "ca")
	if _, err := EnsureCA(ca, "test", *now); err != nil {
		t.Fatal(err)
	}
	return Rotator{
		Policy: Policy{Validity: 90 * time.Minute, RenewBefore: 30 * time.Minute},
		Now:    func() time.Time { return *now },
		Leaves: []Leaf{
			{Name: "serving", Pair: testPair(dir, "serving"), Signer: ca, CommonName: "server", Mode: 0o640,
				DNSNames: []string{"localhost"}, IPs: []net.IP{net.IPv4(127, 0, 0, 1)}, Usage: x509.ExtKeyUsageServerAuth},
			{Name: "client", Pair: testPair(dir, "client"), Signer: ca, CommonName: "bulkhead:kube-apiserver",
				Organization: []string{"bulkhead:components"}, Mode: 0o600, Usage: x509.ExtKeyUsageClientAuth},
		},
	}
}

func renew(t *testing.T, k Rotator, all bool) []string {
	t.Helper()
	renewed, err := k.Renew(all)
	if err != nil {
		t.Fatal(err)
	}
	return renewed
}

func TestIssuedCertificatesDoTheirWork(t *testing.T) {
	now := begin
	k := testKeeper(t, &now)
	renew(t, k, false)
	roots := x509.NewCertPool()
	ca, err := readCert(k.Leaves[0].Signer.CertFile)
	if err != nil {
		t.Fatal(err)
	}
	roots.AddCert(ca)
	for _, leaf := range k.Leaves {
		pair, err := tls.LoadX509KeyPair(leaf.CertFile, leaf.KeyFile)
		if err != nil {
			t.Fatal(err)
		}
		options := x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{leaf.Usage}}
		if leaf.Usage == x509.ExtKeyUsageServerAuth {
			options.DNSName = "127.0.0.1"
		}
		if _, err := pair.Leaf.Verify(options); err != nil {
			t.Errorf("%s: %v", leaf.Name, err)
		}
		if got, want := pair.Leaf.NotAfter, now.Add(k.Policy.Validity); !got.Equal(want) {
			t.Errorf("%s ends %v, want %v", leaf.Name, got, want)
		}
		if !leaf.describes(pair.Leaf) {
			t.Errorf("%s is for %v", leaf.Name, pair.Leaf.Subject)
		}
		for _, file := range []string{leaf.CertFile, leaf.KeyFile} {
			if info, err := os.Stat(file); err != nil || info.Mode() != leaf.Mode {
				t.Errorf("%s: mode %v, %v", file, info.Mode(), err)
			}
		}
	}
}

func TestRenewIsDue(t *testing.T) {
	both := []string{"serving", "client"}
	for _, tc := range []struct {
		name   string
		later  time.Duration
		change func(*testing.T, Rotator)
		want   []string
	}{
		{"new certificates: not due", 0, nil, nil},
		{"exactly the renewal time left: not due", time.Hour, nil, nil},
		{"both are due with less left", time.Hour + time.Second, nil, both},
		{"both are due when they have expired", 100 * time.Hour, nil, both},
		{"both are due when they may not live that long any more", -2 * time.Minute, nil, both},
		{"missing file: due", 0, func(t *testing.T, k Rotator) { remove(t, k.Leaves[1].CertFile) }, []string{"client"}},
		{"half a pair is due", 0, func(t *testing.T, k Rotator) { remove(t, k.Leaves[0].KeyFile) }, []string{"serving"}},
		{"a key of another certificate is due", 0, func(t *testing.T, k Rotator) {
			rename(t, k.Leaves[1].KeyFile, k.Leaves[0].KeyFile)
		}, both},
		{"a certificate for another name is due", 0, func(_ *testing.T, k Rotator) { k.Leaves[1].CommonName = "other" },
			[]string{"client"}},
		{"a certificate for another address is due", 0,
			func(_ *testing.T, k Rotator) { k.Leaves[0].IPs = []net.IP{net.IPv4(127, 0, 0, 2)} }, []string{"serving"}},
		{"both are due under another authority", 0, func(t *testing.T, k Rotator) {
			remove(t, k.Leaves[0].Signer.CertFile)
			remove(t, k.Leaves[0].Signer.KeyFile)
			if _, err := EnsureCA(k.Leaves[0].Signer, "other", begin); err != nil {
				t.Fatal(err)
			}
		}, both},
	} {
		t.Run(tc.name, func(t *testing.T) {
			now := begin
			k := testKeeper(t, &now)
			renew(t, k, false)
			now = now.Add(tc.later)
			if tc.change != nil {
				tc.change(t, k)
			}
			if diff := cmp.Diff(tc.want, renew(t, k, false)); diff != "" {
				t.Errorf("-want +renewed:\n%s", diff)
			}
			if again := renew(t, k, false); len(again) > 0 {
				t.Errorf("%v are due again at once", again)
			}
		})
	}
}

func TestRenewAllRenewsCertificatesThatAreNotDue(t *testing.T) {
	now := begin
	k := testKeeper(t, &now)
	renew(t, k, false)
	if diff := cmp.Diff([]string{"serving", "client"}, renew(t, k, true)); diff != "" {
		t.Errorf("-want +renewed:\n%s", diff)
	}
}

func TestALeafDoesNotOutliveItsSigner(t *testing.T) {
	now := begin
	k := testKeeper(t, &now)
	now = now.Add(caValidity - time.Minute)
	renew(t, k, false)
	ca, _ := ReadNotAfter(k.Leaves[0].Signer.CertFile)
	if got, err := ReadNotAfter(k.Leaves[0].CertFile); err != nil || !got.Equal(ca) {
		t.Errorf("ends %v, its signer %v (%v)", got, ca, err)
	}
}

func TestEnsureCAKeepsTheOneThatIsThere(t *testing.T) {
	ca := testPair(t.TempDir(), "ca")
	for _, want := range []bool{true, false} {
		if made, err := EnsureCA(ca, "test", begin); err != nil || made != want {
			t.Fatalf("made %v, want %v (%v)", made, want, err)
		}
	}
	if err := CanSign(ca); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(ca.KeyFile, []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := EnsureCA(ca, "test", begin); err == nil {
		t.Error("a broken authority is replaced without a word")
	}
	remove(t, ca.KeyFile)
	if _, err := EnsureCA(ca, "test", begin); err == nil {
		t.Error("an authority without its key is replaced without a word")
	}
}

func TestCertificateStatusReportsProblems(t *testing.T) {
	now := begin
	k := testKeeper(t, &now)
	renew(t, k, false)
	remove(t, k.Leaves[1].CertFile)
	now = now.Add(61 * time.Minute)
	want := []Status{
		{Name: "serving", File: k.Leaves[0].CertFile, NotAfter: begin.Add(90 * time.Minute),
			Due: "it has 29m0s left, less than 30m0s"},
		{Name: "client", File: k.Leaves[1].CertFile, Due: "it does not exist"},
	}
	if diff := cmp.Diff(want, k.Status()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestInterval(t *testing.T) {
	for _, tc := range []struct {
		name               string
		renewBefore, every time.Duration
	}{
		{"a month before leaves an hour", 30 * 24 * time.Hour, time.Hour},
		{"seven minutes before leave ten tries", 7 * time.Minute, 42 * time.Second},
		{"it is never busier than every ten seconds", time.Second, 10 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := (Policy{RenewBefore: tc.renewBefore}).Interval(); got != tc.every {
				t.Errorf("%v, want %v", got, tc.every)
			}
		})
	}
}

// TestWatchKeepsCertificatesAlive simulates an hour in which the signer's key cannot be read for
// two minutes.
func TestWatchKeepsCertificatesAlive(t *testing.T) {
	now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // the start time of a synctest bubble
	k := testKeeper(t, &now)
	k.Policy = Policy{Validity: 10 * time.Minute, RenewBefore: 7 * time.Minute}
	k.Now = time.Now
	key := k.Leaves[0].Signer.KeyFile
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- k.Watch(ctx) }()
		synctest.Wait()
		ends := map[time.Time]bool{}
		for minute := range 60 {
			switch minute {
			case 20:
				rename(t, key, key+".away")
			case 22:
				rename(t, key+".away", key)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			for _, leaf := range k.Leaves {
				notAfter, err := ReadNotAfter(leaf.CertFile)
				if err != nil || time.Until(notAfter) < 3*time.Minute {
					t.Errorf("after %d minutes %s has %v left (%v)", minute+1, leaf.Name, time.Until(notAfter), err)
				}
				ends[notAfter] = true
			}
		}
		if len(ends) < 10 {
			t.Errorf("only %d certificates in an hour", len(ends))
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestOneFailureDoesNotStopTheOthers(t *testing.T) {
	now := begin
	k := testKeeper(t, &now)
	k.Leaves[0].Signer = testPair(t.TempDir(), "missing")
	renewed, err := k.Renew(false)
	if diff := cmp.Diff([]string{"client"}, renewed); diff != "" || err == nil ||
		!strings.Contains(err.Error(), "signing serving") {
		t.Errorf("error %v; -want +renewed:\n%s", err, diff)
	}
}

func remove(t *testing.T, file string) {
	t.Helper()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}
