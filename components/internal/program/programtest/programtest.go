// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package programtest lets a test run a complete program: with its own files, on its own ports,
// with a fake API server.
package programtest

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
	"github.com/bulkhead-k8s/bulkhead/components/internal/testpki"
)

// Program contains the addresses of a program under test.
type Program struct {
	// TLS is the TLS configuration that the API server uses to call the program.
	TLS *tls.Config
	// Webhook and Health are host and port, without a path.
	Webhook, Health string
}

// Place writes the files that the options name into a temporary directory: one certificate that is
// CA, server and client certificate, and a kubeconfig for server. It chooses free ports.
func Place(t *testing.T, options *program.Options, server string) Program {
	t.Helper()
	dir := t.TempDir()
	self := testpki.SelfSigned(t, "bulkhead:kube-apiserver")
	certificate, key := self.Certificate, self.Key
	for file, data := range map[string][]byte{
		"serving.crt": certificate, "serving.key": key, "client-ca.crt": certificate,
		"kubeconfig": fmt.Appendf(nil,
			`{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":%q}}],
			"contexts":[{"name":"c","context":{"cluster":"c","user":"c"}}]}`, server),
	} {
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	options.Kubeconfig, options.ClientCAFile = filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "client-ca.crt")
	options.CertFile, options.KeyFile = filepath.Join(dir, "serving.crt"), filepath.Join(dir, "serving.key")
	options.SecurePort, options.HealthPort = freePort(t), freePort(t)
	return Program{
		TLS:     client(t, certificate, key),
		Webhook: fmt.Sprintf("https://127.0.0.1:%d", options.SecurePort),
		Health:  fmt.Sprintf("http://127.0.0.1:%d", options.HealthPort),
	}
}

func client(t *testing.T, certificate, key []byte) *tls.Config {
	t.Helper()
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certificate)
	return &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("address %v", listener.Addr())
	}
	return address.Port
}

// Post sends a review as the API server does, with the TLS configuration with.
func (p Program) Post(t *testing.T, with *tls.Config, path, review string) (int, string, error) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: with, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	return call(t, &http.Client{Transport: transport}, http.MethodPost, p.Webhook+path, review)
}

// Await polls a path of the health port until the answer contains want.
func (p Program) Await(t *testing.T, path, want string) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		_, body, err := call(t, &http.Client{Transport: transport}, http.MethodGet, p.Health+path, "")
		if strings.Contains(body, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %q (%v), want %q", path, body, err, want)
		}
	}
}

func call(t *testing.T, client *http.Client, method, url, body string) (int, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	response, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	return response.StatusCode, string(data), err
}

// Log collects log lines, for use with funcr. It is safe for concurrent use.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write appends a line.
func (l *Log) Write(_, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.WriteString(line + "\n")
}

// String returns all lines.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
