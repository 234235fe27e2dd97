// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// configFor returns a configuration with a kubeconfig for the server.
func configFor(t *testing.T, server string) *config {
	t.Helper()
	o := defaultOptions()
	o.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	content := fmt.Appendf(nil,
		`{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":%q}}],
		"contexts":[{"name":"c","context":{"cluster":"c","user":"c"}}]}`, server)
	if err := os.WriteFile(o.kubeconfig, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return &config{*o}
}

// TestRun checks that the program watches Nodes and the CSRs of kubelets under its user agent, and
// ends without an error when it is stopped.
func TestRun(t *testing.T) {
	requests := make(chan *http.Request, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		select {
		case requests <- req:
		default: // the test has seen enough
		}
		http.Error(w, "no answer", http.StatusInternalServerError)
	}))
	t.Cleanup(server.Close)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, configFor(t, server.URL)) }()
	selectors := map[string]string{
		"/api/v1/nodes": "",
		"/apis/certificates.k8s.io/v1/certificatesigningrequests": "spec.signerName=kubernetes.io/kubelet-serving",
	}
	seen := map[string]bool{}
	for timeout := time.After(20 * time.Second); len(seen) < len(selectors); {
		select {
		case req := <-requests:
			if selector := selectors[req.URL.Path]; req.URL.Query().Get("fieldSelector") != selector {
				t.Errorf("%s: selector %s, want %q", req.URL.Path, req.URL.RawQuery, selector)
			}
			if got := req.UserAgent(); got != "bulkhead-kubelet-approver" {
				t.Errorf("%s: user agent %q", req.URL.Path, got)
			}
			seen[req.URL.Path] = true
		case <-timeout:
			t.Fatalf("requests only for %v", seen)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestRunWithoutKubeconfig(t *testing.T) {
	c := configFor(t, "https://127.0.0.1:1")
	c.kubeconfig += ".missing"
	if err := run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "reading kubeconfig") {
		t.Errorf("error %v", err)
	}
}
