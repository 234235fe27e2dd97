// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// fakeServer serves one Node, by list, and reports each patch.
func fakeServer(t *testing.T) (address string, patches <-chan string) {
	t.Helper()
	seen := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		node := map[string]any{"metadata": map[string]any{"name": "pii-1", "uid": "1", "resourceVersion": "5"}}
		switch {
		case r.Method == http.MethodPatch:
			body, _ := io.ReadAll(r.Body)
			select {
			case seen <- r.URL.Path + " " + string(body):
			default: // the test has seen enough
			}
			node["kind"], node["apiVersion"] = "Node", "v1"
			_ = json.NewEncoder(w).Encode(node)
		case r.URL.Query().Get("watch") != "":
			http.Error(w, "no watch here", http.StatusInternalServerError)
		default:
			_ = json.NewEncoder(w).Encode(map[string]any{"kind": "NodeList", "apiVersion": "v1",
				"metadata": map[string]any{"resourceVersion": "5"}, "items": []any{node}})
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, seen
}

func configFor(t *testing.T, server string) *config {
	t.Helper()
	dir := t.TempDir()
	o := defaultOptions()
	o.kubeconfig, o.configuration = filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "configuration.yaml")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.healthPort = listener.Addr().(*net.TCPAddr).Port
	_ = listener.Close()
	for name, content := range map[string]string{
		o.kubeconfig: fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
			"clusters":[{"name":"c","cluster":{"server":%q}}],
			"contexts":[{"name":"c","context":{"cluster":"c","user":"c"}}]}`, server),
		o.configuration: "apiVersion: noderestriction.admission.k8s.io/v1\nkind: Configuration\n" +
			"machines:\n- name: pii-*\n  labels: {pool: pii}\n",
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &config{*o}
}

// TestRun checks that the program writes what a Node lacks, is ready, and ends when it is stopped.
func TestRun(t *testing.T) {
	server, patches := fakeServer(t)
	c := configFor(t, server)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, c) }()
	select {
	case got := <-patches:
		if want := `/api/v1/nodes/pii-1 {"metadata":{"labels":{"pool":"pii"},"uid":"1"}}`; got != want {
			t.Errorf("patch %s, want %s", got, want)
		}
	case <-time.After(time.Minute):
		t.Fatal("no patch within a minute")
	}
	awaitMetrics(t, c.healthPort, "bulkhead_configuration_in_force 1", "bulkhead_machine_table_writes_total")
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// awaitMetrics waits until the metrics contain the texts. A write is counted after the API server has
// answered it.
func awaitMetrics(t *testing.T, port int, texts ...string) {
	t.Helper()
	var metrics []byte
	lacks := func(text string) bool { return !strings.Contains(string(metrics), text) }
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics", port))
		if err != nil {
			continue
		}
		metrics, err = io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err == nil && !slices.ContainsFunc(texts, lacks) {
			return
		}
	}
	t.Errorf("the metrics lack one of %q:\n%s", texts, metrics)
}

func TestRunNeedsItsFiles(t *testing.T) {
	for missing, want := range map[string]string{"kubeconfig": "reading kubeconfig",
		"configuration": "reading the configuration"} {
		c := configFor(t, "https://127.0.0.1:1")
		if missing == "kubeconfig" {
			c.kubeconfig += ".missing"
		} else {
			c.configuration += ".missing"
		}
		if err := run(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", missing, err, want)
		}
	}
}
