// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/bulkhead-k8s/bulkhead/components/internal/testpki"
)

// apiServer is a fake API server. It accepts one token. It allows get on nodes/metrics of the node
// n to the token's user and to the user admin.
func apiServer(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch review := object.(type) {
	case *authenticationv1.TokenReview:
		fmt.Fprintf(w, `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview",`+
			`"status":{"authenticated":%v,"user":{"username":"robot"}}}`, review.Spec.Token == "good")
	case *authorizationv1.SubjectAccessReview:
		a, who := review.Spec.ResourceAttributes, review.Spec.User
		may := a.Verb == "get" && a.Resource == "nodes" && a.Subresource == "metrics" && a.Name == "n" &&
			(who == "robot" || who == "admin")
		fmt.Fprintf(w, `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","status":{"allowed":%v}}`, may)
	}
}

func identity(t *testing.T, name string) []byte {
	t.Helper()
	return testpki.SelfSigned(t, name).Bundle()
}

func pairOf(t *testing.T, data []byte) tls.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair(data, data)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func poolOf(data []byte) *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(data)
	return pool
}

// running is the program, with a fake API server and a fake kubelet.
type running struct {
	*testing.T
	port, healthPort int
	serving, admin   []byte
	audit            string
	stop             context.CancelFunc
	ended            chan error
}

func begin(t *testing.T) *running { return beginWith(t, func(*options) {}) }

// beginWith calls change after all files are written.
func beginWith(t *testing.T, change func(*options)) *running {
	t.Helper()
	dir := t.TempDir()
	r := &running{T: t, serving: identity(t, "system:node:n"), admin: identity(t, "admin"),
		audit: filepath.Join(dir, "audit.log"), ended: make(chan error, 1)}
	client := identity(t, "bulkhead:kubelet-auth-proxy")
	kubelet := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprint(w, "for ", req.TLS.PeerCertificates[0].Subject.CommonName)
	}))
	kubelet.TLS = &tls.Config{Certificates: []tls.Certificate{pairOf(t, r.serving)},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: poolOf(client)}
	kubelet.StartTLS()
	t.Cleanup(kubelet.Close)
	api := httptest.NewServer(http.HandlerFunc(apiServer))
	t.Cleanup(api.Close)
	for name, data := range map[string][]byte{
		"serving.pem": r.serving, "client.pem": client, "ca.crt": r.admin,
		"kubeconfig": fmt.Appendf(nil,
			`{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":%q}}],
			"contexts":[{"name":"c","context":{"cluster":"c","user":"c"}}]}`, api.URL),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.port, r.healthPort = freePort(t), freePort(t)
	o := defaultOptions()
	o.nodeName, o.addresses, o.port, o.healthPort, o.kubelet = "n", []string{"127.0.0.1"}, r.port, r.healthPort,
		strings.TrimPrefix(kubelet.URL, "https://")
	o.kubeconfig, o.who.ClientCAFile, o.audit = filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "ca.crt"), r.audit
	o.certFile, o.keyFile = filepath.Join(dir, "serving.pem"), filepath.Join(dir, "serving.pem")
	o.kubeletCert, o.kubeletKey = filepath.Join(dir, "client.pem"), filepath.Join(dir, "client.pem")
	change(o)
	c, err := o.config()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	r.stop = stop
	go func() { r.ended <- run(ctx, c) }()
	return r
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	address, _ := listener.Addr().(*net.TCPAddr)
	return address.Port
}

// get sends a request to the proxy, with a certificate, a token, or neither.
func (r *running) get(path string, certificate []byte, token string) string {
	r.Helper()
	config := &tls.Config{RootCAs: poolOf(r.serving)}
	if certificate != nil {
		config.Certificates = []tls.Certificate{pairOf(r.T, certificate)}
	}
	return r.call(fmt.Sprintf("https://127.0.0.1:%d%s", r.port, path), config, token)
}

func (r *running) call(url string, config *tls.Config, token string) string {
	r.Helper()
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
	req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, url, nil)
	if err != nil {
		r.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return fmt.Sprint(response.StatusCode, " ", string(body))
}

func (r *running) await(path, want string) {
	r.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		got := r.call(fmt.Sprintf("http://127.0.0.1:%d%s", r.healthPort, path), nil, "")
		if strings.Contains(got, want) {
			return
		}
		if time.Now().After(deadline) {
			r.Fatalf("%s: %s, want %q", path, got, want)
		}
	}
}

// TestRun tests the complete program.
func TestRun(t *testing.T) {
	r := begin(t)
	r.await("/readyz", "200 ok")
	stranger := identity(t, "admin")
	for _, tt := range []struct {
		name, path  string
		certificate []byte
		token, want string
	}{
		{"a certificate with the right", "/metrics/resource", r.admin, "", "200 for bulkhead:kubelet-auth-proxy"},
		{"the same without", "/stats/summary", r.admin, "",
			"403 Forbidden (user=admin, verb=get, resource=nodes, subresource(s)=[stats]) [KA-STATS-1]"},
		{"a certificate of another CA", "/metrics/resource", stranger, "", "401 Unauthorized"},
		{"a token with the right", "/metrics/resource", nil, "good", "200 for bulkhead:kubelet-auth-proxy"},
		{"a token that is not good", "/metrics/resource", nil, "bad", "401 Unauthorized"},
		{"nothing", "/metrics/resource", nil, "", "401 Unauthorized"},
		{"an unclean path", "/metrics//resource", r.admin, "", "400 "},
		{"its own metrics", "/metrics/bulkhead/kubelet-auth-proxy", r.admin, "", "200 # HELP "},
		{"the same with a token that is not good", "/metrics/bulkhead/kubelet-auth-proxy", nil, "bad", "401 Unauthorized"},
	} {
		if got := r.get(tt.path, tt.certificate, tt.token); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s is answered %q, want %q", tt.name, got, tt.want)
		}
	}
	for _, want := range []string{
		`bulkhead_kubelet_requests_total{decision="allow",rule="KA-METRICS-1"} 3`,
		`bulkhead_audited_refusals_total{rule="KA-AUD-1"} 1`,
		`bulkhead_certificate_expiration_timestamp_seconds{certificate="kubelet-client"}`,
		`bulkhead_certificate_expiration_timestamp_seconds{certificate="serving"}`,
		`bulkhead_certificate_expiration_timestamp_seconds{certificate="client-ca"}`, "process_open_fds",
	} {
		r.await("/metrics", want)
	}
	r.stop()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(r.audit)
	if err != nil || strings.Count(string(text), "\n") != 12 ||
		!strings.Contains(string(text), `"findings":["KA-AUD-1"]`) {
		t.Errorf("audit log (%v):\n%s", err, text)
	}
}

// A missing file is reported at start.
func TestFilesThatAreMissingEndTheProgram(t *testing.T) {
	for name, change := range map[string]func(*options){
		"serving": func(o *options) { o.certFile = "/nowhere" },
		"kubelet client": func(o *options) {
			o.certFile, o.keyFile = o.kubeletCert, o.kubeletKey
			o.kubeletCert = "/nowhere"
		},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "pair.pem")
		if err := os.WriteFile(file, identity(t, "n"), 0o600); err != nil {
			t.Fatal(err)
		}
		o := defaultOptions()
		o.nodeName, o.addresses = "n", []string{"127.0.0.1"}
		o.kubeletCert, o.kubeletKey, o.audit = file, file, ""
		o.ruleModes["KA-AUDIT-1"] = "off"
		change(o)
		c, err := o.config()
		if err != nil {
			t.Fatal(err)
		}
		if err := run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "reading the "+name+" certificate") {
			t.Errorf("error %v", err)
		}
	}
}
