// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"
)

func loadFrom(t *testing.T, dir string) *certificates {
	t.Helper()
	c, err := loadCertificates(Config{
		CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key"),
		ClientCAFile:       filepath.Join(dir, "ca.crt"),
		AllowedClientNames: []string{allowedName},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// connect completes a handshake in memory and reads a byte, because a TLS 1.3 client learns of a
// rejection only when it reads. It returns the name in the serving certificate.
func connect(t *testing.T, c *certificates, client *tls.Config) (string, error) {
	t.Helper()
	near, far := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		server := tls.Server(far, c.tlsConfig())
		_, _ = server.Write([]byte{1})
		_ = far.Close()
	}()
	defer func() {
		_ = near.Close()
		<-done
	}()
	connection := tls.Client(near, client)
	if _, err := io.ReadFull(connection, make([]byte, 1)); err != nil {
		return "", err
	}
	return connection.ConnectionState().PeerCertificates[0].Subject.CommonName, nil
}

func TestHandshakes(t *testing.T) {
	ca, otherCA := newTestCA(t), newTestCA(t)
	dir := t.TempDir()
	writeFiles(t, dir, filesFor(ca, ca.serving(t, "serving")))
	later := time.Now().Add(time.Hour)
	with := func(from testCA, name string, usage x509.ExtKeyUsage, end time.Time) *tls.Config {
		c := from.issue(t, name, usage, end)
		return ca.client(t, &c)
	}
	old := ca.goodClient(t)
	old.MaxVersion = tls.VersionTLS12
	for _, tt := range []struct {
		name   string
		client *tls.Config
		want   string
	}{
		{"the API server's certificate is served", with(ca, allowedName, x509.ExtKeyUsageClientAuth, later), ""},
		{"no certificate is refused", ca.client(t, nil), "certificate required"},
		{"a certificate of another CA is refused", with(otherCA, allowedName, x509.ExtKeyUsageClientAuth, later),
			"unknown certificate authority"},
		{"another name is refused", with(ca, "bulkhead:node-authorizer", x509.ExtKeyUsageClientAuth, later),
			"bad certificate"},
		{"a name that only begins right is refused", with(ca, allowedName+"x", x509.ExtKeyUsageClientAuth, later),
			"bad certificate"},
		{"a serving certificate is refused", with(ca, allowedName, x509.ExtKeyUsageServerAuth, later), "bad certificate"},
		{"an expired certificate is refused", with(ca, allowedName, x509.ExtKeyUsageClientAuth, time.Now().Add(-time.Minute)),
			"expired certificate"},
		{"TLS 1.2 is refused", old, "protocol version"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := connect(t, loadFrom(t, dir), tt.client)
			if tt.want == "" && err != nil {
				t.Errorf("refused: %v", err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestReload(t *testing.T) {
	ca, nextCA := newTestCA(t), newTestCA(t)
	before, after := ca.serving(t, "before"), ca.serving(t, "after")
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, dir string)
		want   string
	}{
		{"files that stay are kept", func(*testing.T, string) {}, "before"},
		{"rewritten files are read", func(t *testing.T, dir string) {
			writeFiles(t, filepath.Join(dir, "1"), filesFor(ca, after))
		}, "after"},
		{"a directory swapped under a symlink is read", func(t *testing.T, dir string) {
			writeFiles(t, filepath.Join(dir, "2"), filesFor(ca, after))
			link := filepath.Join(dir, "next")
			if err := os.Symlink("2", link); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(link, filepath.Join(dir, "current")); err != nil {
				t.Fatal(err)
			}
		}, "after"},
		{"a certificate without its key changes nothing", func(t *testing.T, dir string) {
			writeFiles(t, filepath.Join(dir, "1"), map[string][]byte{"tls.crt": after.Certificate})
		}, "before"},
		{"half a key changes nothing", func(t *testing.T, dir string) {
			writeFiles(t, filepath.Join(dir, "1"), map[string][]byte{"tls.crt": after.Certificate, "tls.key": after.Key[:40]})
		}, "before"},
		{"an empty file changes nothing", func(t *testing.T, dir string) {
			writeFiles(t, filepath.Join(dir, "1"), map[string][]byte{"tls.crt": nil, "ca.crt": nil})
		}, "before"},
		{"files that are gone change nothing", func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, "1")); err != nil {
				t.Fatal(err)
			}
		}, "before"},
		{"half a client CA changes nothing", func(t *testing.T, dir string) {
			writeFiles(t, filepath.Join(dir, "1"), map[string][]byte{"ca.crt": nextCA.PEM()[:60]})
		}, "before"},
		{"another client CA refuses the old client", func(t *testing.T, dir string) {
			writeFiles(t, filepath.Join(dir, "1"), map[string][]byte{"ca.crt": nextCA.PEM()})
		}, "refused"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			writeFiles(t, filepath.Join(dir, "1"), filesFor(ca, before))
			if err := os.Symlink("1", filepath.Join(dir, "current")); err != nil {
				t.Fatal(err)
			}
			c := loadFrom(t, filepath.Join(dir, "current"))
			client := ca.goodClient(t)
			tt.change(t, dir)
			c.reread(t.Context())
			if err := c.controller.RunOnce(); err != nil {
				t.Fatal(err)
			}
			got, err := connect(t, c, client)
			if err != nil {
				got = "refused"
			}
			if got != tt.want {
				t.Errorf("%s (%v), want %s", got, err, tt.want)
			}
		})
	}
}

// run starts all loops that notice a change, and all of them end.
func TestChangesAreNoticed(t *testing.T) {
	ca := newTestCA(t)
	dir := t.TempDir()
	writeFiles(t, dir, filesFor(ca, ca.serving(t, "before")))
	c := loadFrom(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		go c.controller.Run(1, ctx.Done())
		wait.UntilWithContext(ctx, c.reread, time.Millisecond)
	}()
	writeFiles(t, dir, filesFor(ca, ca.serving(t, "after")))
	client := ca.goodClient(t)
	deadline := time.Now().Add(10 * time.Second)
	for got := ""; got != "after"; {
		if time.Now().After(deadline) {
			t.Fatalf("still %q", got)
		}
		got, _ = connect(t, c, client)
	}
	cancel()
	<-done
}

func TestRunEnds(t *testing.T) {
	ca := newTestCA(t)
	dir := t.TempDir()
	writeFiles(t, dir, filesFor(ca, ca.serving(t, "serving")))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	loadFrom(t, dir).run(ctx)
}

func TestExpiries(t *testing.T) {
	ca := newTestCA(t)
	dir := t.TempDir()
	end := time.Now().Add(30 * time.Minute).Truncate(time.Second)
	writeFiles(t, dir, filesFor(ca, ca.issue(t, "serving", x509.ExtKeyUsageServerAuth, end)))
	c := loadFrom(t, dir)
	ends := func() map[string]int64 {
		got := map[string]int64{}
		for name, expiry := range c.expiries() {
			if at, ok := expiry(); ok {
				got[name] = at.Unix()
			}
		}
		return got
	}
	want := map[string]int64{"serving": end.Unix(), "client-ca": ca.Certificate.NotAfter.Unix()}
	if diff := cmp.Diff(want, ends()); diff != "" {
		t.Errorf("before the first client (-want +got)\n%s", diff)
	}
	shown := ca.issue(t, allowedName, x509.ExtKeyUsageClientAuth, end.Add(time.Minute))
	if _, err := connect(t, c, ca.client(t, &shown)); err != nil {
		t.Fatal(err)
	}
	want["apiserver-client"] = end.Add(time.Minute).Unix()
	if diff := cmp.Diff(want, ends()); diff != "" {
		t.Errorf("after it (-want +got)\n%s", diff)
	}
	both := filepath.Join(dir, "both.crt")
	writeFiles(t, dir, map[string][]byte{"both.crt": append(append([]byte("text\n"), ca.PEM()...), shown.Certificate...)})
	if at, ok := ExpiryOfFile(both)(); !ok || !at.Equal(end.Add(time.Minute)) {
		t.Errorf("end of a file with two: %v %v, want the earlier one, %v", at, ok, end.Add(time.Minute))
	}
	if _, ok := ExpiryOfFile(filepath.Join(dir, "none"))(); ok {
		t.Error("a file that is not there has an end")
	}
}
