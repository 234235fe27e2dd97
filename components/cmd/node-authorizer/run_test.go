// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/klog/v2"
)

// apiServer answers every watch with one pod of node-1 that mounts the secret s,
// and then says again and again that this is all there is. It waits for permission
// to do so. While revoked, it ends watches and refuses new ones.
func apiServer(t *testing.T, begin <-chan struct{}, revoked *atomic.Bool) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		select {
		case <-begin:
		case <-req.Context().Done():
			return
		}
		if revoked.Load() {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		resource := req.URL.Path[strings.LastIndexByte(req.URL.Path, '/')+1:]
		kind, group := map[string][2]string{
			"pods": {"Pod", "v1"}, "persistentvolumes": {"PersistentVolume", "v1"}, "volumeattachments": {"VolumeAttachment", "storage.k8s.io/v1"},
			"resourceslices": {"ResourceSlice", "resource.k8s.io/v1"}, "podcertificaterequests": {"PodCertificateRequest", "certificates.k8s.io/v1"},
		}[resource], ""
		kindName, group := kind[0], kind[1]
		w.Header().Set("Content-Type", "application/json")
		if resource == "pods" {
			fmt.Fprintln(w, `{"type":"ADDED","object":{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"n","name":"p","uid":"1","resourceVersion":"1"},
				"spec":{"nodeName":"node-1","volumes":[{"name":"v","secret":{"secretName":"s"}}]}}}`)
		}
		fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"apiVersion":%q,"kind":%q,"metadata":{"resourceVersion":"2","annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n", group, kindName)
		for !revoked.Load() && req.Context().Err() == nil {
			fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"apiVersion":%q,"kind":%q,"metadata":{"resourceVersion":"2"}}}`+"\n", group, kindName)
			w.(http.Flusher).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	}))
	t.Cleanup(server.CloseClientConnections)
	return server
}

// testFiles writes a certificate that is CA, server and client at once, and a
// kubeconfig, and returns the TLS configuration of the client.
func testFiles(t *testing.T, dir, server string) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bulkhead:kube-apiserver"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	for name, data := range map[string][]byte{
		"serving.crt": certPEM, "serving.key": keyPEM, "client-ca.crt": certPEM,
		"kubeconfig": fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":%q}}],
			"contexts":[{"name":"c","context":{"cluster":"c","user":"c"}}]}`, server),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}
}

// lockedLog is a log that many may write to.
type lockedLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedLog) write(_, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.WriteString(line + "\n")
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
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
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	return response.StatusCode, string(data), err
}

// The program, joined up: it waits for the cluster, then decides from it, but not
// from what it has not heard of for long.
func TestRun(t *testing.T) {
	begin := make(chan struct{})
	dir := t.TempDir()
	var revoked atomic.Bool
	tlsConfig := testFiles(t, dir, apiServer(t, begin, &revoked).URL)
	o := defaultOptions()
	o.kubeconfig, o.securePort, o.healthPort = filepath.Join(dir, "kubeconfig"), freePort(t), freePort(t)
	o.certFile, o.keyFile, o.caFile = filepath.Join(dir, "serving.crt"), filepath.Join(dir, "serving.key"), filepath.Join(dir, "client-ca.crt")
	c, err := o.config()
	if err != nil {
		t.Fatal(err)
	}
	c.maxViewAge = 2 * time.Second
	var log lockedLog
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), funcr.New(log.write, funcr.Options{})))
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, c) }()

	plain := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	health := fmt.Sprintf("http://127.0.0.1:%d", o.healthPort)
	await := func(path, want string) {
		deadline := time.Now().Add(20 * time.Second)
		for {
			_, body, err := call(t, plain, http.MethodGet, health+path, "")
			if strings.Contains(body, want) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %q (%v), want %q", path, body, err, want)
			}
		}
	}
	webhook := &http.Client{Transport: &http.Transport{TLSClientConfig: tlsConfig, ForceAttemptHTTP2: true}}
	ask := func(node, want string) {
		t.Helper()
		review := fmt.Sprintf(`{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"system:node:%s","groups":["system:nodes"],
			"resourceAttributes":{"verb":"get","version":"v1","resource":"secrets","namespace":"n","name":"s"}}}`, node)
		code, body, err := call(t, webhook, http.MethodPost, fmt.Sprintf("https://127.0.0.1:%d/authorize", o.securePort), review)
		if err != nil || code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %q (%v), want %q", node, code, body, err, want)
		}
	}

	await("/readyz", "not ready: has not yet seen the whole cluster")
	ask("node-1", `[NA-UNREADY]`)
	close(begin)
	await("/readyz", "ok")
	ask("node-1", `"allowed":true`)
	ask("node-2", `"denied":true`)
	for _, want := range []string{
		`bulkhead_graph_objects{kind="secret"} 1`, `bulkhead_graph_edges `, `bulkhead_view_lag_seconds{resource="pods"}`,
		`bulkhead_authorization_decisions_total{decision="allow",resource="secrets",rule="NA-`, `bulkhead_requests_in_flight 0`,
		`bulkhead_certificate_expiration_timestamp_seconds{certificate="apiserver-client"}`, `process_open_fds`,
	} {
		await("/metrics", want)
	}
	revoked.Store(true)
	await("/readyz", "not ready: has a stale view: it has heard nothing about pods")
	ask("node-1", `the node authorizer has a stale view`)
	ask("node-2", `[NA-UNREADY]`)
	revoked.Store(false)
	await("/readyz", "ok")
	ask("node-1", `"allowed":true`)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if want := `"msg"="Not allowed" "user"="system:node:node-2"`; !strings.Contains(log.text.String(), want) {
		t.Errorf("log %q, want %s", log.text.String(), want)
	}
}
