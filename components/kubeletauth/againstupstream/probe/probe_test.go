// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/loopback"
)

// Both ways are asked, each with its certificate, and what differs shows.
func TestProbe(t *testing.T) {
	files, err := loopback.NewFiles(t.TempDir(), "a client", "a group")
	if err != nil {
		t.Fatal(err)
	}
	serve := func(latency time.Duration) Way {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			time.Sleep(latency)
			if req.URL.Path == "/forbidden" {
				w.WriteHeader(http.StatusForbidden)
			}
			fmt.Fprint(w, "an answer")
		}))
		t.Cleanup(server.Close)
		return Way{Address: strings.TrimPrefix(server.URL, "https://"), CertFile: files.Client.CertFile, KeyFile: files.Client.KeyFile}
	}
	p := Probe{Proxy: serve(20 * time.Millisecond), Direct: serve(0), Paths: []string{"/pods", "/stats/summary"}, Runs: 2, Turn: 50 * time.Millisecond}
	all, err := p.Run(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, error %v", all, err)
	}
	for _, took := range all {
		if len(took.Proxy) != 2 || len(took.Direct) != 2 || took.Bytes != 9 || took.Proxy.Min() < 20_000 {
			t.Errorf("%+v", took)
		}
	}
	p.Paths = []string{"/forbidden"}
	if _, err := p.Run(t.Context()); !errors.Is(err, errAnswer) {
		t.Errorf("error %v", err)
	}
}
