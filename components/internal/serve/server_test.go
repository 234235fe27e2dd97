// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/component-base/metrics"
)

func configFor(t *testing.T, ca testCA, handler http.HandlerFunc) Config {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, filesFor(ca, ca.serving(t, "serving")))
	registry := metrics.NewKubeRegistry()
	return Config{
		BindAddress: "127.0.0.1", CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key"),
		ClientCAFile: filepath.Join(dir, "ca.crt"), AllowedClientNames: []string{allowedName},
		Handler: handler, Registry: registry, Gatherer: registry, ShutdownTimeout: 10 * time.Second,
	}
}

func TestNewRefuses(t *testing.T) {
	ca := newTestCA(t)
	for _, tt := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"healthy: no error", func(*Config) {}, ""},
		{"other loopback address: not served", func(c *Config) { c.BindAddress = "::1" }, ""},
		{"every address", func(c *Config) { c.BindAddress = "0.0.0.0" }, "not on loopback"},
		{"an address of the host", func(c *Config) { c.BindAddress = "192.0.2.1" }, "not on loopback"},
		{"a name", func(c *Config) { c.BindAddress = "localhost" }, "not on loopback"},
		{"no address", func(c *Config) { c.BindAddress = "" }, "not on loopback"},
		{"an empty list of clients", func(c *Config) { c.AllowedClientNames = nil }, "no client is allowed"},
		{"a key that is not there", func(c *Config) { c.KeyFile += "x" }, "reading the serving certificate"},
		{"a client CA that is not there", func(c *Config) { c.ClientCAFile += "x" }, "reading the client CA"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config := configFor(t, ca, nil)
			tt.change(&config)
			_, err := New(config)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// running is a server that listens.
type running struct {
	webhook, health string
	client          *http.Client
	stop            context.CancelFunc
	ended           chan error
}

func start(t *testing.T, config Config, client *tls.Config) *running {
	t.Helper()
	server, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	secure, health := listenAnywhere(t), listenAnywhere(t)
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{
		webhook: "https://" + secure.Addr().String(), health: "http://" + health.Addr().String(),
		client: &http.Client{Transport: &http.Transport{TLSClientConfig: client, ForceAttemptHTTP2: true}},
		stop:   cancel, ended: make(chan error, 1),
	}
	go func() { r.ended <- server.serve(ctx, secure, health) }()
	t.Cleanup(func() { r.client.CloseIdleConnections() })
	return r
}

func listenAnywhere(t *testing.T) net.Listener {
	t.Helper()
	listener, err := listen(t.Context(), "127.0.0.1", 0)
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

func get(t *testing.T, client *http.Client, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(req)
	if err != nil {
		t.Errorf("GET %s: %v", url, err)
		return 0, ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Errorf("GET %s: %v", url, err)
	}
	return response.StatusCode, string(body)
}

func TestHealth(t *testing.T) {
	ca := newTestCA(t)
	var synced atomic.Bool
	config := configFor(t, ca, nil)
	config.Checks = []Check{func() string {
		if synced.Load() {
			return ""
		}
		return "informers"
	}}
	config.Expiries = map[string]Expiry{"other": func() (time.Time, bool) { return time.Unix(7, 0), true }}
	r := start(t, config, ca.goodClient(t))
	plain := &http.Client{Transport: &http.Transport{}}
	defer plain.CloseIdleConnections()
	for _, step := range []struct {
		synced   bool
		path     string
		wantCode int
		wantBody string
	}{
		{false, "/livez", 200, "ok\n"},
		{false, "/readyz", 503, "not ready: informers\n"},
		{true, "/readyz", 200, "ok\n"},
		{true, "/authorize", 404, "404 page not found\n"},
	} {
		synced.Store(step.synced)
		if code, body := get(t, plain, r.health+step.path); code != step.wantCode || body != step.wantBody {
			t.Errorf("%s: %d %q, want %d %q", step.path, code, body, step.wantCode, step.wantBody)
		}
	}
	if _, body := get(t, plain, r.health+"/metrics"); !strings.Contains(body,
		`bulkhead_certificate_expiration_timestamp_seconds{certificate="other"} 7`) {
		t.Errorf("metrics: %s", body)
	}
	r.stop()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
}

func TestShutdownAnswersRequestsInFlight(t *testing.T) {
	ca := newTestCA(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	r := start(t, configFor(t, ca, func(w http.ResponseWriter, req *http.Request) {
		close(entered)
		<-leave
		_, _ = io.WriteString(w, req.Proto)
	}), ca.goodClient(t))
	answered := make(chan string, 1)
	go func() {
		_, body := get(t, r.client, r.webhook)
		answered <- body
	}()
	<-entered
	r.stop()
	plain := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for code := 0; code != http.StatusServiceUnavailable; {
		code, _ = get(t, plain, r.health+"/readyz")
	}
	select {
	case err := <-r.ended:
		t.Fatalf("ended with a request in flight: %v", err)
	default:
	}
	close(leave)
	if body := <-answered; body != "HTTP/2.0" {
		t.Errorf("request in flight was answered %q", body)
	}
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
}

func TestStoppingDoesNotWaitForever(t *testing.T) {
	ca := newTestCA(t)
	entered := make(chan struct{})
	config := configFor(t, ca, func(_ http.ResponseWriter, req *http.Request) {
		close(entered)
		<-req.Context().Done()
	})
	config.ShutdownTimeout = time.Millisecond
	r := start(t, config, ca.goodClient(t))
	go func() { _, _ = r.client.Get(r.webhook) }()
	<-entered
	r.stop()
	if err := <-r.ended; err == nil || !strings.Contains(err.Error(), "waiting for requests in flight") {
		t.Errorf("error %v", err)
	}
}

func TestPortInUseEndsRun(t *testing.T) {
	ca := newTestCA(t)
	taken := listenAnywhere(t)
	defer taken.Close()
	config := configFor(t, ca, nil)
	config.HealthPort = taken.Addr().(*net.TCPAddr).Port
	server, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "listening on") {
		t.Errorf("error %v", err)
	}
}
