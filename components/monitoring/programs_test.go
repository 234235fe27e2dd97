// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
	"github.com/bulkhead-k8s/bulkhead/components/internal/program/programtest"
	"github.com/bulkhead-k8s/bulkhead/components/internal/testpki"
)

// build builds the programs.
func build(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	args := []string{"build", "-o", dir + "/"}
	for _, name := range []string{"node-authorizer", "node-restriction", "kubelet-auth-proxy"} {
		args = append(args, "./components/cmd/"+name)
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cannot build the programs: %v\n%s", err, out)
	}
	return dir
}

// output is what a program prints.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start runs a program until the end of the test. It returns when the program is ready.
func start(t *testing.T, file string, health string, args ...string) {
	t.Helper()
	var printed output
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, file, args...)
	cmd.Stdout, cmd.Stderr = &printed, &printed
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s printed:\n%s", filepath.Base(file), printed.String())
		}
	})
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if code, _, err := send(t, nil, http.MethodGet, health+"/readyz", ""); err == nil && code == http.StatusOK {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is not ready after a minute", filepath.Base(file))
		}
	}
}

// send sends a request and returns status and body.
func send(t *testing.T, config *tls.Config, method, url, body string) (int, string, error) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	response, err := (&http.Client{Transport: transport, Timeout: 20 * time.Second}).Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// expect sends a request, and fails if the answer does not contain want.
func expect(t *testing.T, config *tls.Config, method, url, body, want string) string {
	t.Helper()
	code, text, err := send(t, config, method, url, body)
	if err != nil || !strings.Contains(fmt.Sprint(code, " ", text), want) {
		t.Errorf("%s %s: %d %.500s (%v), want %q", method, url, code, text, err, want)
	}
	return text
}

func flagsOf(o program.Options) []string {
	return []string{
		"--kubeconfig=" + o.Kubeconfig, "--client-ca-file=" + o.ClientCAFile, "--tls-cert-file=" + o.CertFile,
		"--tls-private-key-file=" + o.KeyFile, fmt.Sprintf("--secure-port=%d", o.SecurePort),
		fmt.Sprintf("--health-port=%d", o.HealthPort),
	}
}

// startNodeAuthorizer runs node-authorizer and has it allow, deny, and audit requests. It returns
// its metrics.
func startNodeAuthorizer(t *testing.T, dir, api string) string {
	t.Helper()
	var o program.Options
	p := programtest.Place(t, &o, api)
	start(t, dir+"/node-authorizer", p.Health,
		append(flagsOf(o), "--node-scope", "--rule-mode=NA-ENDPOINTS-1=audit")...)
	ask := func(node, resource, want string) {
		t.Helper()
		expect(t, p.TLS, http.MethodPost, p.Webhook+"/authorize", fmt.Sprintf(
			`{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"system:node:%s",
			"groups":["system:nodes"],"resourceAttributes":{"verb":"get","version":"v1","resource":%q,"namespace":"n",
			"name":"s"}}}`, node, resource), want)
	}
	ask("node-1", "secrets", `"allowed":true`)
	ask("node-1", "configmaps", `[NA-CM-1]`)
	ask("node-2", "secrets", `[NA-NODE-4]`)
	ask("node-1", "endpoints", `"allowed":true`)
	expect(t, p.TLS, http.MethodPost, p.Webhook+"/authorize", "{}", "400")
	expect(t, p.TLS, http.MethodPost, p.Webhook+"/authorize", fmt.Sprintf(
		`{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview",`+
			`"spec":{"user":"system:node:node-1","extra":{"a":[%q]}}}`,
		strings.Repeat("a", 4<<20)), `[NA-LIMIT]`)
	return expect(t, nil, http.MethodGet, p.Health+"/metrics", "", "bulkhead_graph_edges")
}

// startNodeRestriction is the same for node-restriction.
func startNodeRestriction(t *testing.T, dir, api string) string {
	t.Helper()
	policy := filepath.Join(t.TempDir(), "configuration.yaml")
	text := "apiVersion: bulkhead.dev/v1alpha1\nkind: NodeRestrictionConfiguration\n" +
		"allowedTaints: {\"*\": []}\nstickyTaints: [example.com/a]\n"
	if raw, err := os.ReadFile("../../manifests/node-restriction/configuration-hardened.yaml"); err == nil {
		text = string(raw)
	}
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var o program.Options
	p := programtest.Place(t, &o, api)
	start(t, dir+"/node-restriction", p.Health, append(flagsOf(o), "--config="+policy)...)
	ask := func(pod, want string) {
		t.Helper()
		expect(t, p.TLS, http.MethodPost, p.Webhook+"/review", fmt.Sprintf(tokenReview, pod), want)
	}
	ask("p", `"allowed":true`)
	ask("gone", `[NR-SA-2]`)
	expect(t, p.TLS, http.MethodPost, p.Webhook+"/review", "{}", "400")
	return expect(t, nil, http.MethodGet, p.Health+"/metrics", "", "bulkhead_configuration_in_force 1")
}

// tokenReview is a node's request for a token for a pod.
const tokenReview = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"7",
	"kind":{"group":"authentication.k8s.io","version":"v1","kind":"TokenRequest"},
	"resource":{"group":"","version":"v1","resource":"serviceaccounts"},"subResource":"token",
	"requestKind":{"group":"authentication.k8s.io","version":"v1","kind":"TokenRequest"},
	"requestResource":{"group":"","version":"v1","resource":"serviceaccounts"},"requestSubResource":"token",
	"name":"a","namespace":"n","operation":"CREATE",
	"userInfo":{"username":"system:node:node-1","groups":["system:nodes","system:authenticated"]},
	"object":{"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1",
		"metadata":{"name":"a","namespace":"n"},"spec":{
		"audiences":["https://kubernetes.default.svc.cluster.local"],"expirationSeconds":3607,
		"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":%q,"uid":"1"}}},
	"oldObject":null,"dryRun":false,"options":{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}}}`

// startProxy runs kubelet-auth-proxy in front of a fake kubelet. Its metrics come the way that
// Prometheus takes: from its own port, with a credential.
func startProxy(t *testing.T, dir, api string) string {
	t.Helper()
	serving, client := testpki.SelfSigned(t, "system:node:n"), testpki.SelfSigned(t, "bulkhead:kubelet-auth-proxy")
	ca := testpki.NewCA(t, "kubernetes")
	kubelet := startKubelet(t, serving, client)
	files := t.TempDir()
	place := func(name string, data []byte) string {
		path := filepath.Join(files, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var o program.Options
	programtest.Place(t, &o, api)
	pair, proof := place("serving.pem", serving.Bundle()), place("client.pem", client.Bundle())
	health := fmt.Sprintf("http://127.0.0.1:%d", o.HealthPort)
	start(t, dir+"/kubelet-auth-proxy", health, "--node-name=n", "--bind-addresses=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", o.SecurePort), fmt.Sprintf("--health-port=%d", o.HealthPort),
		"--kubelet-address="+kubelet, "--kubeconfig="+o.Kubeconfig, "--client-ca-file="+place("ca.crt", ca.PEM()),
		"--tls-cert-file="+pair, "--tls-private-key-file="+pair, "--kubelet-client-certificate="+proof,
		"--kubelet-client-key="+proof, "--audit-log-path="+filepath.Join(files, "audit.log"), "--wait-for-node-install",
		"--client-crl="+place("crl.pem", testpki.CRLPEM(ca.CRL(t, nil))), "--rule-mode=KA-EXEC-1=audit",
		"--revoked-credentials="+place("credential-ids", nil))

	config := ca.Issue(t, pkix.Name{CommonName: "prometheus"}, x509.ExtKeyUsageClientAuth).TLS(t, ca)
	config.RootCAs = x509.NewCertPool()
	config.RootCAs.AppendCertsFromPEM(serving.Certificate)
	port := fmt.Sprintf("https://127.0.0.1:%d", o.SecurePort)
	expect(t, config, http.MethodGet, port+"/pods", "", "200")
	expect(t, config, http.MethodGet, port+"/stats/summary", "", "[KA-STATS-1]")
	expect(t, config, http.MethodGet, port+"/containerLogs/ns/pod/c", "", "200")
	expect(t, config, http.MethodGet, port+"/logs/elsewhere", "", "[KA-REDIRECT-1]")
	expect(t, config, http.MethodPost, port+"/metrics/bulkhead/kubelet-auth-proxy", "", "405")
	return expect(t, config, http.MethodGet, port+"/metrics/bulkhead/kubelet-auth-proxy", "", "bulkhead_kubelet_streams")
}

// startKubelet runs a kubelet that accepts one client. It returns its address.
func startKubelet(t *testing.T, serving, client testpki.KeyPair) string {
	t.Helper()
	pair, err := tls.X509KeyPair(serving.Certificate, serving.Key)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(client.Certificate)
	kubelet := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/logs/elsewhere" {
			http.Redirect(w, req, "https://192.0.2.1/", http.StatusFound)
		}
	}))
	kubelet.TLS = &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trusted,
		MinVersion: tls.VersionTLS12,
	}
	kubelet.StartTLS()
	t.Cleanup(kubelet.Close)
	return net.JoinHostPort("127.0.0.1", fmt.Sprint(kubelet.Listener.Addr().(*net.TCPAddr).Port))
}

// startAll runs all programs and returns their metrics by job.
func startAll(t *testing.T) map[string]string {
	t.Helper()
	dir := build(t)
	api := httptest.NewServer(http.HandlerFunc(serveAPI))
	t.Cleanup(api.CloseClientConnections)
	return map[string]string{
		"bulkhead-node-authorizer":    startNodeAuthorizer(t, dir, api.URL),
		"bulkhead-node-restriction":   startNodeRestriction(t, dir, api.URL),
		"bulkhead-kubelet-auth-proxy": startProxy(t, dir, api.URL),
	}
}
