// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/component-base/metrics"
)

// TestListens uses lines of a little-endian machine, as all machines that run this test are.
func TestListens(t *testing.T) {
	const header = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	line := func(address, state string) string {
		return header + "   0: " + address + " 00000000:0000 " + state + " 00000000:00000000 00:00000000 00000000 0 0 1\n"
	}
	for _, tt := range []struct {
		name, table string
		want        bool
	}{
		{"no socket", header, false},
		{"all IPv4 addresses", line("00000000:280A", "0A"), true},
		{"all IPv6 addresses", line("00000000000000000000000000000000:280A", "0A"), true},
		{"the node's address 192.0.2.1", line("010200C0:280A", "0A"), true},
		{"the node's address 192.0.2.127", line("7F0200C0:280A", "0A"), true},
		{"127.0.0.1", line("0100007F:280A", "0A"), false},
		{"::1", line("00000000000000000000000001000000:280A", "0A"), false},
		{"::ffff:127.0.0.1", line("0000000000000000FFFF00000100007F:280A", "0A"), false},
		{"another port", line("00000000:280B", "0A"), false},
		{"a connection", line("010200C0:280A", "01"), false},
		{"half a line", header + "   0: 00000000:280A", false},
	} {
		if got := listens(tt.table, 10250); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

type idleProxy struct {
	*testing.T
	dir    string
	config IdleConfig
	ended  chan error
}

func startIdle(ctx context.Context, t *testing.T) *idleProxy {
	t.Helper()
	registry := metrics.NewKubeRegistry()
	dir := filepath.Join(t.TempDir(), "files")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	p := &idleProxy{T: t, dir: dir, ended: make(chan error, 1), config: IdleConfig{
		HealthAddress: "127.0.0.1", HealthPort: unusedPort(t), KubeletPort: unusedPort(t),
		Files: []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}, Registry: registry, Gatherer: registry,
	}}
	go func() { p.ended <- WaitForFiles(ctx, p.config) }()
	return p
}

func unusedPort(t *testing.T) int {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

func (p *idleProxy) write(name string) {
	p.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), nil, 0o600); err != nil {
		p.Fatal(err)
	}
}

// shows waits until a health endpoint answers with this text.
func (p *idleProxy) shows(path, want string) {
	p.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		got := "no answer"
		response, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d%s", p.config.HealthPort, path))
		if err == nil {
			body, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			got = fmt.Sprint(response.StatusCode, " ", string(body))
		}
		if strings.Contains(got, want) {
			return
		}
		if time.Now().After(deadline) {
			p.Fatalf("%s: %s (%v), want %q", path, got, err, want)
		}
	}
}

func TestIdleProxyIsReadyWhileTheKubeletIsReachable(t *testing.T) {
	p := startIdle(t.Context(), t)
	p.shows("/livez", "200")
	p.shows("/readyz", "503 not ready: the kubelet, which does not listen")
	p.shows("/metrics", "bulkhead_kubelet_proxy_idle 1")
	kubelet, err := new(net.ListenConfig).Listen(t.Context(), "tcp", fmt.Sprintf(":%d", p.config.KubeletPort))
	if err != nil {
		t.Fatal(err)
	}
	defer kubelet.Close()
	p.shows("/readyz", "200 ok")
}

func TestIdleProxyEndsWhenTheLastFileExists(t *testing.T) {
	p := startIdle(t.Context(), t)
	p.write("a")
	p.shows("/metrics", "bulkhead_kubelet_proxy_idle 1")
	select {
	case err := <-p.ended:
		t.Fatalf("with one of two files it ended: %v", err)
	case <-time.After(2 * idleInterval):
	}
	p.write("b")
	if err := <-p.ended; err != nil {
		t.Error(err)
	}
	if text := gauges(t, p.config.Gatherer); !strings.Contains(text, "bulkhead_kubelet_proxy_idle 0") {
		t.Errorf("metrics:\n%s", text)
	}
}

func gauges(t *testing.T, gatherer metrics.Gatherer) string {
	t.Helper()
	families, err := gatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			fmt.Fprintln(&text, family.GetName(), metric.GetGauge().GetValue())
		}
	}
	return text.String()
}

func TestIdleProxyEndsWithAnErrorWhenItsDirectoryIsDeleted(t *testing.T) {
	p := startIdle(t.Context(), t)
	p.shows("/livez", "200")
	if err := os.RemoveAll(p.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := <-p.ended; err == nil || !strings.Contains(err.Error(), "was deleted") {
		t.Errorf("error is %v", err)
	}
}

func TestIdleProxyIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := startIdle(ctx, t)
	p.shows("/livez", "200")
	cancel()
	if err := <-p.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}
