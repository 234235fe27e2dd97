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
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program/programtest"
)

// served are the watched resources, each with its kind and one object.
var served = map[string]struct{ kind, version, object string }{
	"pods": {"Pod", "v1", `"metadata":{"namespace":"n","name":"p","uid":"1","resourceVersion":"1"},
		"spec":{"nodeName":"node-1","serviceAccountName":"agent","volumes":[{"name":"v","secret":{"secretName":"s"}}]}`},
	"serviceaccounts": {"ServiceAccount", "v1", `"metadata":{"namespace":"n","name":"agent","resourceVersion":"1",
		"annotations":{"bulkhead.dev/node-scoped-resources":"secrets"}}`},
	"nodes":                      {"Node", "v1", `"metadata":{"name":"node-1","resourceVersion":"1"}`},
	"persistentvolumes":          {"PersistentVolume", "v1", ""},
	"persistentvolumeclaims":     {"PersistentVolumeClaim", "v1", ""},
	"volumeattachments":          {"VolumeAttachment", "storage.k8s.io/v1", ""},
	"resourceslices":             {"ResourceSlice", "resource.k8s.io/v1", ""},
	"podcertificaterequests":     {"PodCertificateRequest", "certificates.k8s.io/v1", ""},
	"certificatesigningrequests": {"CertificateSigningRequest", "certificates.k8s.io/v1", ""},
	"configmaps": {"ConfigMap", "v1",
		`"metadata":{"namespace":"kube-system","name":"bulkhead-revocations","resourceVersion":"1"},
		"data":{"credential-ids":"JTI=11111111-2222-3333-4444-555555555555 # stolen"}`},
}

// apiServer answers every watch with one object, for example a pod on node-1 that mounts the secret
// s. Then it repeatedly sends bookmarks that show the end of the list. It answers only after begin
// is closed. While revoked is true, it ends watches and refuses new ones. Live reads find no pod on
// a node and no object.
func apiServer(t *testing.T, begin <-chan struct{}, revoked *atomic.Bool) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		select {
		case <-begin:
		case <-req.Context().Done():
			return
		}
		if revoked.Load() {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		resource, ok := served[req.URL.Path[strings.LastIndexByte(req.URL.Path, '/')+1:]]
		switch {
		case !ok:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
			return
		case req.URL.Query().Get("watch") == "":
			fmt.Fprintf(w, `{"kind":"%sList","apiVersion":%q,"metadata":{"resourceVersion":"2"},"items":[]}`, resource.kind,
				resource.version)
			return
		}
		if resource.object != "" {
			fmt.Fprintf(w, `{"type":"ADDED","object":{"apiVersion":%q,"kind":%q,%s}}`+"\n", resource.version, resource.kind,
				resource.object)
		}
		fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"apiVersion":%q,"kind":%q,`+
			`"metadata":{"resourceVersion":"2","annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n",
			resource.version, resource.kind)
		for !revoked.Load() && req.Context().Err() == nil {
			fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"apiVersion":%q,"kind":%q,"metadata":{"resourceVersion":"2"}}}`+"\n",
				resource.version, resource.kind)
			w.(http.Flusher).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	}))
	t.Cleanup(server.CloseClientConnections)
	return server
}

// The whole program waits until it has seen the cluster, then decides requests. It stops deciding
// from resources about which the API server has sent nothing for too long.
func TestRun(t *testing.T) {
	begin := make(chan struct{})
	var revoked atomic.Bool
	o := defaultOptions()
	program := programtest.Place(t, &o.Options, apiServer(t, begin, &revoked).URL)
	o.extensions.RuleModes = map[string]string{"NA-ENDPOINTS-1": "audit"}
	c, err := o.config()
	if err != nil {
		t.Fatal(err)
	}
	c.maxViewAge = 10 * time.Second
	var log programtest.Log
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), funcr.New(log.Write, funcr.Options{})))
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, c) }()

	await := func(path, want string) { t.Helper(); program.Await(t, path, want) }
	askWith := func(credential, node, resource, want string) {
		t.Helper()
		review := fmt.Sprintf(
			`{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview",`+
				`"spec":{"user":"system:node:%s","groups":["system:nodes"],
			"extra":{"authentication.kubernetes.io/credential-id":[%q]},
			"resourceAttributes":{"verb":"get","version":"v1","resource":%q,"namespace":"n","name":"s"}}}`,
			node, credential, resource)
		code, body, err := program.Post(t, program.TLS, webhookPath, review)
		if err != nil || code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %q (%v), want %q", node, code, body, err, want)
		}
	}

	askFor := func(node, resource, want string) {
		t.Helper()
		askWith("JTI=11111111-2222-3333-4444-666666666666", node, resource, want)
	}
	ask := func(node, want string) { t.Helper(); askFor(node, "secrets", want) }

	await("/readyz", "not ready: has not yet seen the whole cluster")
	ask("node-1", `[NA-UNREADY]`)
	close(begin)
	await("/readyz", "ok")
	ask("node-1", `"allowed":true`)
	ask("node-2", `"reason":"node 'node-2' has no Node object [NA-NODE-4]"`)
	askFor("node-1", "configmaps",
		`"denied":true,"reason":"no relationship found between node 'node-1' and this object [NA-CM-1]"`)
	askFor("node-1", "endpoints", `"allowed":true`)
	askWith(stolen, "node-1", "secrets", `"denied":true,"reason":"credential `+stolen+` is revoked [NA-REVOKE-1]"`)
	for _, want := range []string{
		`bulkhead_graph_objects{kind="secret"} 1`, `bulkhead_graph_edges `, `bulkhead_view_lag_seconds{resource="pods"}`,
		`bulkhead_authorization_decisions_total{decision="allow",resource="secrets",rule="NA-`,
		`bulkhead_requests_in_flight 0`,
		`bulkhead_audited_refusals_total{resource="endpoints",rule="NA-ENDPOINTS-1",verb="get"} 1`,
		`bulkhead_view_lag_seconds{resource="nodes"}`,
		`bulkhead_live_reads_total{`, `bulkhead_revoked_credentials 1`, `bulkhead_revocation_list_failed 0`,
		`bulkhead_certificate_expiration_timestamp_seconds{certificate="apiserver-client"}`, `process_open_fds`,
	} {
		await("/metrics", want)
	}
	revoked.Store(true)
	await("/readyz", "not ready: has a stale view: it has received nothing about pods")
	ask("node-1", `the node authorizer has a stale view`)
	ask("node-2", `[NA-UNREADY]`)
	revoked.Store(false)
	await("/readyz", "ok")
	ask("node-1", `"allowed":true`)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for _, want := range []string{`"msg"="Not allowed" "user"="system:node:node-2"`,
		`"rule"="NA-ENDPOINTS-1" "node"="node-1"`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("log %q, want %s", log.String(), want)
		}
	}
}
