// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeclient

import (
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/internal/testpki"
)

// newServerNamed starts a server that answers every request with a ConfigMap called name.
func newServerNamed(t *testing.T, name string) *httptest.Server {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"annotations":{"agent":%q,"host":%q}}}`,
			name, req.UserAgent(), req.Host)
	}))
	t.Cleanup(server.Close)
	return server
}

func writeKubeconfig(t *testing.T, dir string, server *httptest.Server) {
	t.Helper()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	write(t, dir, server.Listener.Addr().String()+".crt", string(ca))
	write(t, dir, "kubeconfig", fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
		"clusters":[{"name":"c","cluster":{"server":%q,"certificate-authority":%q}}],
		"contexts":[{"name":"c","context":{"cluster":"c","user":"c"}}]}`, server.URL, server.Listener.Addr().String()+".crt"))
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFollowsTheKubeconfig(t *testing.T) {
	first, second := newServerNamed(t, "first"), newServerNamed(t, "second")
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, dir string)
		want   *httptest.Server
	}{
		{"a kubeconfig that stays is kept", func(*testing.T, string) {}, first},
		{"another server is called", func(t *testing.T, dir string) { writeKubeconfig(t, dir, second) }, second},
		{"half a kubeconfig changes nothing",
			func(t *testing.T, dir string) { write(t, dir, "kubeconfig", `{"apiVersion":"v1",`) }, first},
		{"an empty kubeconfig changes nothing", func(t *testing.T, dir string) { write(t, dir, "kubeconfig", "") }, first},
		{"a kubeconfig without a context changes nothing",
			func(t *testing.T, dir string) { write(t, dir, "kubeconfig", "{}") }, first},
		{"a kubeconfig that is gone changes nothing",
			func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "kubeconfig")) }, first},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			writeKubeconfig(t, dir, first)
			c, err := New(filepath.Join(dir, "kubeconfig"), "agent")
			if err != nil {
				t.Fatal(err)
			}
			client, err := c.Kubernetes()
			if err != nil {
				t.Fatal(err)
			}
			tt.change(t, dir)
			c.reread(t.Context())
			got, err := client.CoreV1().ConfigMaps("n").Get(t.Context(), "x", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"agent": "agent", "host": tt.want.Listener.Addr().String()}
			if got.Annotations["agent"] != want["agent"] || got.Annotations["host"] != want["host"] {
				t.Errorf("called %s with %v, want %v", got.Name, got.Annotations, want)
			}
		})
	}
}

func TestFollowsTheCAFile(t *testing.T) {
	server := newServerNamed(t, "first")
	dir, ca := t.TempDir(), server.Listener.Addr().String()+".crt"
	writeKubeconfig(t, dir, server)
	good, err := os.ReadFile(filepath.Join(dir, ca))
	if err != nil {
		t.Fatal(err)
	}
	other := string(testpki.NewCA(t, "other").PEM())
	write(t, dir, ca, other)
	c, err := New(filepath.Join(dir, "kubeconfig"), "agent")
	if err != nil {
		t.Fatal(err)
	}
	client, err := c.Kubernetes()
	if err != nil {
		t.Fatal(err)
	}
	get := func() error {
		_, err := client.CoreV1().ConfigMaps("n").Get(t.Context(), "x", metav1.GetOptions{})
		return err
	}
	if err := get(); err == nil {
		t.Fatal("another CA was accepted")
	}
	write(t, dir, ca, string(good))
	c.reread(t.Context())
	if err := get(); err != nil {
		t.Errorf("after the right CA was written: %v", err)
	}
	for _, bad := range []string{"", "-----BEGIN CERTIFICATE-----\n"} {
		write(t, dir, ca, bad)
		c.reread(t.Context())
		if err := get(); err != nil {
			t.Errorf("after %q was written: %v", bad, err)
		}
	}
	write(t, dir, ca, other)
	c.reread(t.Context())
	if err := get(); err == nil {
		t.Error("after another CA was written, the old one was still trusted")
	}
	if _, file := c.Files(); filepath.Base(file) != ca {
		t.Errorf("the CA's file is %s, want %s", file, ca)
	}
}

func TestNewNeedsAKubeconfig(t *testing.T) {
	if _, err := New(filepath.Join(t.TempDir(), "none"), ""); err == nil ||
		!strings.Contains(err.Error(), "reading kubeconfig") {
		t.Errorf("error %v", err)
	}
}

// Both clients use the same transport, without a rate limit.
func TestMetadataIsReadFromTheSameServer(t *testing.T) {
	server := newServerNamed(t, "first")
	dir := t.TempDir()
	writeKubeconfig(t, dir, server)
	c, err := New(filepath.Join(dir, "kubeconfig"), "agent")
	if err != nil {
		t.Fatal(err)
	}
	client, err := c.Metadata()
	if err != nil {
		t.Fatal(err)
	}
	configMaps := client.Resource(corev1.SchemeGroupVersion.WithResource("configmaps"))
	for range 100 {
		got, err := configMaps.Namespace("n").Get(t.Context(), "x", metav1.GetOptions{})
		if err != nil || got.Name != "first" || got.Annotations["agent"] != "agent" {
			t.Fatalf("%v, %v", got, err)
		}
	}
}

// TestAnotherServerIsCalledAtItsAddress: a caller that reads the certificate of another API server
// must not get an answer from the server in the kubeconfig.
func TestAnotherServerIsCalledAtItsAddress(t *testing.T) {
	dir := t.TempDir()
	first, second := newServerNamed(t, "first"), newServerNamed(t, "second")
	writeKubeconfig(t, dir, first)
	c, err := New(filepath.Join(dir, "kubeconfig"), "agent")
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]*httptest.Server{anyServer: first, second.Listener.Addr().String(): second} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+host+"/version", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := c.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil || response.Body.Close() != nil {
			t.Fatal(err)
		}
		if name := map[*httptest.Server]string{first: "first", second: "second"}[want]; !strings.Contains(string(body),
			`"name":"`+name+`"`) {
			t.Errorf("%s: %s, want the server named %s", host, body, name)
		}
	}
}
