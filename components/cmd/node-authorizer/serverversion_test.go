// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program/programtest"
)

// serverOf answers /version with a status and a body, and everything else as next does.
func serverOf(t *testing.T, next http.Handler) (server *httptest.Server, answer func(code int, body string),
	reads *atomic.Int32) {
	t.Helper()
	type response struct {
		code int
		body string
	}
	var current atomic.Pointer[response]
	reads = &atomic.Int32{}
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path != "/version" {
			next.ServeHTTP(w, req)
			return
		}
		reads.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(current.Load().code)
		_, _ = fmt.Fprint(w, current.Load().body)
	}))
	t.Cleanup(server.CloseClientConnections)
	return server, func(code int, body string) { current.Store(&response{code, body}) }, reads
}

func versionOf(version string) string {
	return fmt.Sprintf(`{"major":"1","minor":"37","gitVersion":%q}`, version)
}

// TestServerVersion reads one answer after the other, as during an upgrade.
func TestServerVersion(t *testing.T) {
	server, answer, _ := serverOf(t, http.NotFoundHandler())
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	var log programtest.Log
	ctx := klog.NewContext(t.Context(), funcr.New(log.Write, funcr.Options{}))
	v := &serverVersion{client: client}
	if v.isNewer() {
		t.Error("newer before the first read")
	}
	for _, tc := range []struct {
		name  string
		code  int
		body  string
		newer bool
		wait  time.Duration
	}{
		{"tested version", 200, versionOf("v1.37.0"), false, versionInterval},
		{"upgrade to the next minor version", 200, versionOf("v1.38.0"), true, versionInterval},
		{"the same again", 200, versionOf("v1.38.0"), true, versionInterval},
		{"forbidden", 403, `{"kind":"Status","code":403}`, false, versionRetry},
		{"server error", 500, `{}`, false, versionRetry},
		{"back again", 200, versionOf("v1.38.1"), true, versionInterval},
		{"half an answer", 200, `{"gitVersion":"v1.38`, false, versionRetry},
		{"empty answer", 200, ``, false, versionRetry},
		{"no version", 200, `{}`, false, versionRetry},
		{"another type", 200, `{"gitVersion":1.38}`, false, versionRetry},
		{"unknown fields", 200, `{"gitVersion":"v1.38.1","new":[{}]}`, true, versionInterval},
		{"invalid version", 200, versionOf("newest"), false, versionRetry},
		{"downgrade", 200, versionOf("v1.37.4"), false, versionInterval},
	} {
		if answer(tc.code, tc.body); v.update(ctx) != tc.wait || v.isNewer() != tc.newer {
			t.Errorf("%s: newer %v, want %v", tc.name, v.isNewer(), tc.newer)
		}
	}
	// Two outages of several reads each, one invalid version, and three times a newer version.
	if got := strings.Count(log.String(), "Cannot read the version"); got != 3 {
		t.Errorf("%d errors in the log, want 3:\n%s", got, log.String())
	}
	if got := strings.Count(log.String(), "newer than node-authorizer supports"); got != 3 {
		t.Errorf("%d newer versions in the log, want 3:\n%s", got, log.String())
	}
}

func TestServerVersionEndsWithItsContext(t *testing.T) {
	server, answer, reads := serverOf(t, http.NotFoundHandler())
	answer(200, versionOf("v1.38.0"))
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	v, ended := &serverVersion{client: client}, make(chan struct{})
	go func() { v.run(ctx); close(ended) }()
	await(t, "the first read", func() bool { return reads.Load() == 1 && v.isNewer() })
	cancel()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("it still runs")
	}
}

// TestUnknownResourceByServerVersion runs the whole program. The request is always the same.
func TestUnknownResourceByServerVersion(t *testing.T) {
	const denied = `"denied":true,"reason":"no rule allows a node to get podgroups.scheduling.k8s.io [NA-DEFAULT]"`
	const left = `"allowed":false,"reason":"no rule allows a node to get podgroups.scheduling.k8s.io [NA-DEFAULT]"`
	for _, tc := range []struct {
		name, version, unknown, want string
		reads                        bool
	}{
		{"known version: denied", "v1.37.3", auditOnNewer, denied, true},
		{"newer version: reported", "v1.38.0", auditOnNewer, left, true},
		{"newer version, --unknown-resources=deny: denied", "v1.38.0", denyUnknown, denied, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			begin := make(chan struct{})
			close(begin)
			server, answer, reads := serverOf(t, apiServer(t, begin, &atomic.Bool{}).Config.Handler)
			answer(200, versionOf(tc.version))
			o := defaultOptions()
			o.unknown = tc.unknown
			program := programtest.Place(t, &o.Options, server.URL)
			c, err := o.config()
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- run(ctx, c) }()
			program.Await(t, "/readyz", "ok")
			if tc.reads {
				await(t, "the version", func() bool { return reads.Load() > 0 })
			}
			const review = `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{
				"user":"system:node:node-1","groups":["system:nodes"],"resourceAttributes":{"verb":"get","version":"v1",
				"group":"scheduling.k8s.io","resource":"podgroups","namespace":"n","name":"s"}}}`
			var body string
			await(t, tc.want, func() bool {
				_, body, err = program.Post(t, program.TLS, webhookPath, review)
				return err == nil && strings.Contains(body, tc.want)
			})
			if tc.want == left {
				program.Await(t, "/metrics", `bulkhead_audit_findings_total{rule="NA-DEFAULT",user="system:node:node-1"} 1`)
			}
			if tc.reads != (reads.Load() > 0) {
				t.Errorf("the version was read %d times", reads.Load())
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// await waits until something is true.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("there is not: %s", what)
		}
	}
}
