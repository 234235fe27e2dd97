// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// databaseServer returns the address of a server that answers the index with this text.
func databaseServer(t *testing.T, status int, text string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/index/db.json" {
			status = http.StatusBadRequest
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestSkipWithoutDatabase(t *testing.T) {
	const index = `{"modified":"2026-01-02T03:04:05Z"}`
	onDisk := t.TempDir()
	if err := os.Mkdir(filepath.Join(onDisk, "index"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(onDisk, "index", "db.json"), []byte(index), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, address, reason string }{
		{"database", databaseServer(t, 200, index), ""},
		{"address with a slash", databaseServer(t, 200, index) + "/", ""},
		{"copy on a disk", "file://" + onDisk, ""},
		{"copy that is missing", "file://" + onDisk + "/x", "404"},
		{"connection refused", "http://127.0.0.1:1", "connection refused"},
		{"not allowed", databaseServer(t, 403, index), "403"},
		{"page of a proxy", databaseServer(t, 200, "<html>"), "not the index"},
		{"another document", databaseServer(t, 200, "{}"), "not the index"},
		{"invalid address", "://", "missing protocol scheme"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			var r result
			skipped := (&job{out: &out}).skipWithoutDatabase(context.Background(), &r, tt.address)
			if want := tt.reason != ""; skipped != want || (r.skipped == 1) != want || r.passed+r.failed > 0 {
				t.Errorf("skipped %v, count %s", skipped, r.count)
			}
			printed := out.String()
			if !strings.Contains(printed, tt.reason) || skipped != strings.Contains(printed, "govulncheck: skipped: ") {
				t.Errorf("printed %q, want %q", printed, tt.reason)
			}
		})
	}
}

// A server that accepts a connection and never answers does not stop the run.
func TestReachDatabaseEndsInTime(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := reachDatabase(ctx, server.URL, 50*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "deadline exceeded") || ctx.Err() != nil {
		t.Errorf("%v", err)
	}
}

func TestDatabaseAddress(t *testing.T) {
	t.Setenv("GOVULNDB", "")
	if got := databaseAddress(); got != "https://vuln.go.dev" {
		t.Errorf("default %q", got)
	}
	t.Setenv("GOVULNDB", "http://127.0.0.1:1")
	if got := databaseAddress(); got != "http://127.0.0.1:1" {
		t.Errorf("got %q", got)
	}
}
