// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/component-base/metrics"
)

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port
}

func TestRunHealth(t *testing.T) {
	port := freePort(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- RunHealth(ctx, Config{BindAddress: "127.0.0.1", HealthPort: port, ShutdownTimeout: time.Minute,
			Gatherer: metrics.NewKubeRegistry(), Checks: []Check{func() string { return "the cache" }}})
	}()
	get := func(path string) (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			"http://127.0.0.1:"+strconv.Itoa(port)+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			answer, err := http.DefaultClient.Do(request)
			if err == nil {
				body, _ := io.ReadAll(answer.Body)
				_ = answer.Body.Close()
				return answer.StatusCode, string(body)
			}
			if time.Now().After(end) {
				t.Fatal(err)
			}
		}
	}
	for path, want := range map[string]struct {
		code int
		text string
	}{"/livez": {200, "ok"}, "/readyz": {503, "not ready: the cache"}, "/metrics": {200, ""}, "/": {404, ""}} {
		if code, text := get(path); code != want.code || !strings.Contains(text, want.text) {
			t.Errorf("%s: %d %q", path, code, text)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestRunHealthOnlyOnLoopback(t *testing.T) {
	for _, address := range []string{"", "0.0.0.0", "192.0.2.1", "localhost"} {
		if err := RunHealth(t.Context(), Config{BindAddress: address}); err == nil ||
			!strings.Contains(err.Error(), "is not on loopback") {
			t.Errorf("%q: %v", address, err)
		}
	}
}
