// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program/programtest"
)

// scopedReview is a SubjectAccessReview for the ServiceAccount "agent", with these token claims.
func scopedReview(resource, name, extra string) string {
	return fmt.Sprintf(`{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview",`+
		`"spec":{"user":"system:serviceaccount:n:agent",
		"groups":["system:serviceaccounts","system:serviceaccounts:n","system:authenticated"],"extra":{%s},
		"resourceAttributes":{"verb":"get","version":"v1","resource":%q,"namespace":"n","name":%q}}}`, extra, resource, name)
}

func extraOf(pod, uid, node string) string {
	return fmt.Sprintf(`"authentication.kubernetes.io/pod-name":[%q],"authentication.kubernetes.io/pod-uid":[%q],`+
		`"authentication.kubernetes.io/node-name":[%q]`, pod, uid, node)
}

// The program serves both paths. Neither decides requests of the other. Before the cluster is
// known, the path for nodes returns NoOpinion and the path for node scope denies.
func TestRunWithNodeScope(t *testing.T) {
	begin := make(chan struct{})
	var revoked atomic.Bool
	o := defaultOptions()
	program := programtest.Place(t, &o.Options, apiServer(t, begin, &revoked).URL)
	o.scope.on = true
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
	ask := func(path, review, want string) {
		t.Helper()
		code, body, err := program.Post(t, program.TLS, path, review)
		if err != nil || code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%d %q (%v), want %q", code, body, err, want)
		}
	}
	mine := extraOf("p", "1", "node-1")

	await("/readyz", "not ready: has not yet seen the whole cluster")
	ask(scopedPath, scopedReview("configmaps", "x", mine),
		`"denied":true,"reason":"node scope has not yet seen the whole cluster [NS-UNREADY]"`)
	close(begin)
	await("/readyz", "ok")

	ask(scopedPath, scopedReview("secrets", "s", mine), `"status":{"allowed":false,"reason":"[NS-SCOPE-1]"}`)
	ask(scopedPath, scopedReview("secrets", "other", mine),
		`"denied":true,"reason":"a pod on node 'node-1' is limited to what that node may do: `+
			`no relationship found between node 'node-1' and this object [NA-SECRET-1] [NS-SCOPE-1]"`)
	ask(scopedPath, scopedReview("configmaps", "x", mine), `"status":{"allowed":false,"reason":"[NS-PASS-1]"}`)
	ask(scopedPath, scopedReview("secrets", "s", ""), `"denied":true,"reason":"the token names no pod [NS-IDENT-2]"`)
	ask(scopedPath, scopedReview("secrets", "s", extraOf("p", "2", "node-1")),
		`"denied":true,"reason":"the pod of that name is not the one that the token was made for [NS-IDENT-3]"`)
	ask(scopedPath, scopedReview("secrets", "s", extraOf("p", "1", "node-2")),
		`"denied":true,"reason":"the token names another node than the one that its pod is on [NS-IDENT-4]"`)
	// The path for nodes does not decide requests of ServiceAccounts.
	ask(webhookPath, scopedReview("secrets", "other", mine), `"status":{"allowed":false}`)

	for _, want := range []string{
		`bulkhead_node_scope_annotated{kind="ServiceAccount"} 1`, `bulkhead_node_scope_annotated{kind="Pod"} 0`,
		`bulkhead_node_scope_unread_annotations{kind="ServiceAccount"} 0`,
		`bulkhead_node_scope_beyond_share{kind="ServiceAccount",reason="list"} 0`,
		`bulkhead_node_scope_beyond_share{kind="ServiceAccount",reason="values"} 0`,
		`bulkhead_node_scope_beyond_share{kind="Pod",reason="values"} 0`,
		`bulkhead_node_scope_view_lag_seconds `,
		`bulkhead_authorization_decisions_total{decision="no-opinion",entry="node-scope",` +
			`resource="secrets",rule="NS-SCOPE-1",verb="get"} 1`,
		`bulkhead_authorization_decisions_total{decision="no-opinion",resource="secrets",rule="none",verb="get"} 1`,
		`bulkhead_requests_in_flight{entry="node-scope"} 0`, `bulkhead_requests_in_flight 0`,
	} {
		await("/metrics", want)
	}

	// scope-sync reads up to which resource versions the decisions follow the API server.
	await("/resource-versions", `"serviceaccounts":"`)

	revoked.Store(true)
	await("/readyz", "not ready: has a stale view: it has received nothing about")
	ask(scopedPath, scopedReview("configmaps", "x", mine), `"denied":true,"reason":"node scope has a stale view`)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Without the flag, the path does not exist and ServiceAccounts are not read.
func TestNodeScopeIsOff(t *testing.T) {
	begin := make(chan struct{})
	close(begin)
	o := defaultOptions()
	program := programtest.Place(t, &o.Options, apiServer(t, begin, new(atomic.Bool)).URL)
	c, err := o.config()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, c) }()
	program.Await(t, "/readyz", "ok")
	code, _, err := program.Post(t, program.TLS, scopedPath, scopedReview("secrets", "s", ""))
	if err != nil || code != http.StatusNotFound {
		t.Errorf("got %d, %v", code, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestUnreadAnnotationsAreLogged(t *testing.T) {
	var log programtest.Log
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), funcr.New(log.Write, funcr.Options{})))
	u := newUnread()
	// More annotations than the buffer holds: note does not block.
	for range 2 * cap(u) {
		u.note("Pod", "ns", "p", context.Canceled)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		u.run(ctx)
	}()
	for len(u) > 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	<-done
	if got := strings.Count(log.String(), `"kind"="Pod" "namespace"="ns" "name"="p"`); got < cap(u)-1 || got > cap(u) {
		t.Errorf("%d lines", got)
	}
}
