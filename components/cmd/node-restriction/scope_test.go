// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

// updateBy returns the review of an update by a pod's token of the account n/a. The test API server
// names each pod after its node.
func updateBy(claimed, pod, kind, object string) string {
	group, version, what := "", "v1", strings.ToLower(kind)+"s"
	if kind == "Widget" {
		group, version = "example.com", "v1"
	}
	return fmt.Sprintf(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"7",
		"kind":{"group":%[1]q,"version":%[2]q,"kind":%[3]q},"resource":{"group":%[1]q,"version":%[2]q,"resource":%[4]q},
		"name":"x","operation":"UPDATE",
		"userInfo":{"username":"system:serviceaccount:n:a","groups":["system:serviceaccounts","system:authenticated"],
			"extra":{"authentication.kubernetes.io/pod-name":[%[5]q],"authentication.kubernetes.io/pod-uid":["1"],
				"authentication.kubernetes.io/node-name":[%[6]q]}},
		"object":%[7]s,"oldObject":%[7]s,"dryRun":false}}`, group, version, kind, what, pod, claimed, object)
}

func nodeNamed(name string) string {
	return fmt.Sprintf(`{"kind":"Node","apiVersion":"v1","metadata":{"name":%q}}`, name)
}

func widgetOf(node string) string {
	return fmt.Sprintf(`{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"x"},"spec":{"node":%q}}`, node)
}

func (r *running) askAt(t *testing.T, path, review, want string) {
	t.Helper()
	code, body, err := r.Post(t, r.TLS, path, review)
	if err != nil || code != http.StatusOK || !strings.Contains(body, want) {
		t.Errorf("%d %s (%v), want %s", code, body, err, want)
	}
}

// The program with both handlers. Each answers its own requests. The one for accounts admits
// nothing while it does not know the cluster.
func TestRunWithNodeScope(t *testing.T) {
	api := &apiServer{}
	api.away.Store(true)
	r := begin(t, api, func(o *options) {
		o.scope.on, o.scope.custom = true, "widgets.example.com=field:spec.node"
	})
	own := strings.Replace(updateBy("me", "of-me", "Node", nodeNamed("me")), `"name":"x"`, `"name":"me"`, 1)
	r.Await(t, "/readyz", "has not yet seen the whole cluster")
	r.askAt(t, scopedPath, own, `node scope has not yet seen the whole cluster [NS-UNREADY]`)
	api.away.Store(false)
	r.Await(t, "/readyz", "ok\n")

	r.askAt(t, scopedPath, own, `"allowed":true`)
	r.askAt(t, scopedPath, updateBy("me", "of-me", "Node", nodeNamed("x")),
		`node \"me\" is not allowed to modify node \"x\" [NR-NODE-1] [NS-ADMIT-1]`)
	r.askAt(t, scopedPath, updateBy("other", "of-other", "Node", nodeNamed("me")), `[NR-NODE-1] [NS-ADMIT-1]`)
	r.askAt(t, scopedPath, updateBy("me", "of-other", "Node", nodeNamed("me")),
		`the token names another node than the one that its pod is on [NS-IDENT-4]`)
	r.askAt(t, scopedPath, updateBy("me", "gone", "Node", nodeNamed("me")),
		`the pod of the token is not there [NS-IDENT-3]`)
	r.askAt(t, scopedPath, updateBy("me", "of-me", "Secret",
		`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"x"}}`), `"allowed":true`)
	r.askAt(t, scopedPath, updateBy("me", "of-me", "Widget", widgetOf("me")), `"allowed":true`)
	r.askAt(t, scopedPath, updateBy("me", "of-me", "Widget", widgetOf("other")), `[NS-CUSTOM-3]`)

	// The handler for nodes does not check accounts, but denies nodes the annotations of node
	// scope.
	r.askAt(t, webhookPath, updateBy("me", "of-me", "Node", nodeNamed("x")), `"allowed":true`)
	r.askAt(t, webhookPath, markedBy("system:node:me"), `[NS-WRITE-3]`)

	for _, want := range []string{
		`bulkhead_admission_reviews_total{decision="deny",entry="node-scope",` +
			`operation="UPDATE",resource="nodes",rule="NS-ADMIT-1",subresource=""} 2`,
		`bulkhead_admission_reviews_total{decision="deny",` +
			`operation="UPDATE",resource="serviceaccounts",rule="NS-WRITE-3",subresource=""} 1`,
		`bulkhead_requests_in_flight{entry="node-scope"} 0`, `bulkhead_requests_in_flight 0`,
	} {
		r.Await(t, "/metrics", want)
	}
	api.away.Store(true)
	r.askAt(t, scopedPath, own, `[NS-UNREADY]`)
	r.stop()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
}

// markedBy returns the review of an update that gives an account a scope.
func markedBy(who string) string {
	return fmt.Sprintf(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"7",
		"kind":{"group":"","version":"v1","kind":"ServiceAccount"},
		"resource":{"group":"","version":"v1","resource":"serviceaccounts"},
		"name":"a","namespace":"n","operation":"UPDATE",
		"userInfo":{"username":%q,"groups":["system:nodes","system:authenticated"]},
		"object":{"kind":"ServiceAccount","apiVersion":"v1",
			"metadata":{"name":"a","annotations":{"bulkhead.dev/node-scoped-resources":""}}},
		"oldObject":{"kind":"ServiceAccount","apiVersion":"v1","metadata":{"name":"a"}},"dryRun":false}}`, who)
}

// Without the flag, the path does not exist, accounts are not read, and nodes get the same rules as
// before.
func TestNodeScopeIsOff(t *testing.T) {
	r := begin(t, &apiServer{}, nil)
	r.Await(t, "/readyz", "ok")
	if code, _, err := r.Post(t, r.TLS, scopedPath, updateBy("me", "of-me", "Node", nodeNamed("x"))); err != nil ||
		code != http.StatusNotFound {
		t.Errorf("answered %d (%v)", code, err)
	}
	r.askAt(t, webhookPath, markedBy("system:node:me"), `"allowed":true`)
	r.stop()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
}

func TestScopeOptions(t *testing.T) {
	got, err := parse("--node-scope", "--node-scope-custom-resources=widgets.example.com=field:spec.node",
		"--max-view-age=1m")
	if err != nil {
		t.Fatal(err)
	}
	if at, ok := got.scope.custom.Of(nodescope.Resource{Group: "example.com", Resource: "widgets"}); !ok ||
		at.Field != "spec.node" || got.scope.maxViewAge != time.Minute {
		t.Errorf("got %+v", got.scope)
	}
	for _, tc := range []struct{ args, want string }{
		{"--node-scope-custom-resources=a.example.com=label:x",
			"--node-scope-custom-resources is given without --node-scope"},
		{"--node-scope --node-scope-custom-resources=pods=field:x",
			`--node-scope-custom-resources: custom resources of nodes: "pods=field:x": the resource is not a custom one`},
		{"--node-scope --max-view-age=1s", "--max-view-age is 1s, want at least 10s"},
	} {
		if _, err := parse(strings.Fields(tc.args)...); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", tc.args, err, tc.want)
		}
	}
}
