// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func servingPEM(t *testing.T, a authority, name string) []byte {
	return a.issue(t, pkix.Name{CommonName: name}, x509.ExtKeyUsageServerAuth)
}

// The proxy does not send a request to a process that has the kubelet's port but not its key.
func TestOnlyTheKubeletIsCalled(t *testing.T) {
	w := start(t, answering("answer"), nil)
	client := w.client(w.admin(), false)
	if got := w.do(client, http.MethodGet, "/pods", nil); got.code != 200 {
		t.Fatalf("answered %d %s", got.code, got.body)
	}
	// The same CA and names, but another key.
	impostor := servingPEM(t, w.serving, "system:node:n")
	pair, err := tls.X509KeyPair(impostor, impostor)
	if err != nil {
		t.Fatal(err)
	}
	w.kubelet.TLS.Certificates[0] = pair
	w.kubelet.CloseClientConnections()
	w.upstream.Close()
	// On a busy machine, the usual time and the rest of the handshake can be longer than a handshake may take.
	w.upstream.copyTimeout = 100 * time.Millisecond
	got := w.do(client, http.MethodGet, "/pods", nil)
	if got.code != http.StatusBadGateway || !strings.Contains(got.body, "cannot be reached") {
		t.Errorf("answered %d %s", got.code, got.body)
	}
	if n := len(w.reached()); n != 1 {
		t.Errorf("called %d times", n)
	}
}

// The kubelet and the proxy serve with the same file, and reload it.
func TestTheServingCertificateIsFollowed(t *testing.T) {
	ca := newAuthority(t)
	first, second, third := servingPEM(t, ca, "1"), servingPEM(t, ca, "2"), servingPEM(t, ca, "3")
	raw := func(data []byte) tls.ConnectionState {
		pair, err := tls.X509KeyPair(data, data)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(pair.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}}
	}
	for _, tt := range []struct {
		name   string
		change func(dir string)
		want   string
	}{
		{"at first it is the one on disk", func(string) {}, "+1 -2 -3"},
		{"one that replaces it is read, and the kubelet may be late", func(dir string) { place(t, dir, "p.pem", second) },
			"+1 +2 -3"},
		{"half a file changes nothing", func(dir string) { place(t, dir, "p.pem", second[:len(second)/2]) }, "+1 -2 -3"},
		{"a certificate with another's key changes nothing", func(dir string) {
			key := third[strings.Index(string(third), "-----BEGIN PRIVATE"):]
			certificate := second[:strings.Index(string(second), "-----BEGIN PRIVATE")]
			place(t, dir, "p.pem", append(append([]byte{}, certificate...), key...))
		}, "+1 -2 -3"},
		{"an empty file changes nothing", func(dir string) { place(t, dir, "p.pem", nil) }, "+1 -2 -3"},
		{"a file that is gone changes nothing", func(dir string) { _ = os.Remove(dir + "/p.pem") }, "+1 -2 -3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			file := place(t, dir, "p.pem", first)
			pair, err := LoadPair("serving", file, file)
			if err != nil {
				t.Fatal(err)
			}
			u := NewUpstream(pair, pair, time.Minute)
			tt.change(dir)
			pair.reread(t.Context())
			var got []string
			for name, data := range map[string][]byte{"1": first, "2": second, "3": third} {
				sign := "+"
				if err := u.verify(raw(data)); err != nil {
					sign = "-"
					if !errors.Is(err, errNotKubelet) {
						t.Error(err)
					}
				}
				got = append(got, sign+name)
			}
			if diff := cmp.Diff(sorted(strings.Fields(tt.want)), sorted(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// The proxy notices a renewed file during the first handshake with the new certificate.
func TestARenewalIsNoticedInTime(t *testing.T) {
	ca := newAuthority(t)
	dir := t.TempDir()
	first, second := servingPEM(t, ca, "1"), servingPEM(t, ca, "2")
	file := place(t, dir, "p.pem", first)
	pair, err := LoadPair("serving", file, file)
	if err != nil {
		t.Fatal(err)
	}
	u := NewUpstream(pair, pair, time.Minute)
	place(t, dir, "p.pem", second)
	parsed, err := tls.X509KeyPair(second, second)
	if err != nil {
		t.Fatal(err)
	}
	leaf, _ := x509.ParseCertificate(parsed.Certificate[0])
	if err := u.verify(tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}}); err != nil {
		t.Error(err)
	}
	if err := u.verify(tls.ConnectionState{}); err == nil {
		t.Error("no certificate is taken for the kubelet's")
	}
}

// A request in flight continues when the client certificate is replaced. Its connection, which the
// kubelet authenticated by the previous certificate, is not used for another request.
func TestNoRequestBeginsWithAFormerClientCertificate(t *testing.T) {
	serials, release := make(chan int64, 3), make(chan struct{})
	kubelet := http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		serials <- req.TLS.PeerCertificates[0].SerialNumber.Int64()
		if req.URL.Path == "/healthz" {
			<-release
		}
		_, _ = rw.Write([]byte("answer"))
	})
	w := start(t, kubelet, nil)
	client := w.client(w.admin(), false)
	long := make(chan int, 1)
	go func() { long <- w.do(client, http.MethodGet, "/healthz", nil).code }()
	former := <-serials

	place(t, w.dir, "client.pem",
		w.node.issue(t, pkix.Name{CommonName: "bulkhead:kubelet-auth-proxy"}, x509.ExtKeyUsageClientAuth))
	w.upstream.client.reread(t.Context())
	ask := func() int64 {
		if got := w.do(client, http.MethodGet, "/pods", nil); got.code != 200 {
			t.Errorf("answered %d %s", got.code, got.body)
		}
		return <-serials
	}
	during := ask()
	close(release)
	if code := <-long; code != 200 {
		t.Errorf("the request in flight is answered %d", code)
	}
	if after := ask(); during == former || after != during {
		t.Errorf("the kubelet sees certificate %d, then %d and %d", former, during, after)
	}
}

// Proxy settings in the environment do not change the address of the kubelet.
func TestTheEnvironmentIsIgnored(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://192.0.2.7:1")
	t.Setenv("HTTP_PROXY", "http://192.0.2.7:1")
	t.Setenv("ALL_PROXY", "http://192.0.2.7:1")
	w := start(t, answering("answer"), nil)
	client := w.client(w.admin(), false)
	if got := w.do(client, http.MethodGet, "/pods", nil); got.code != 200 {
		t.Errorf("answered %d %s", got.code, got.body)
	}
	if w.upstream.current.Load().Proxy != nil {
		t.Error("the environment sets a proxy between the proxy and the kubelet")
	}
}

func sorted(words []string) []string {
	slices.Sort(words)
	return words
}
