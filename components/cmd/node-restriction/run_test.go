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
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
	"github.com/bulkhead-k8s/bulkhead/components/internal/program/programtest"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// apiServer has a Node and a pod on each of two nodes. Other objects are not found. Its watches
// return the existing objects and no changes.
type apiServer struct {
	// away makes every request fail.
	away atomic.Bool
	// If hold is not nil, a read of a pod sends to asked and then waits for hold.
	hold  chan struct{}
	asked chan struct{}
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if s.away.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	path, watch := req.URL.Path, req.URL.Query().Get("watch") != ""
	kind := map[string]string{
		"/api/v1/nodes": "Node", "/api/v1/namespaces/kube-system/configmaps": "ConfigMap",
		"/api/v1/serviceaccounts": "ServiceAccount", "/api/v1/pods": "Pod",
	}[path]
	switch {
	case kind != "" && watch:
		s.watch(w, req, kind)
	case kind != "":
		fmt.Fprintf(w, `{"kind":"%sList","apiVersion":"v1","metadata":{"resourceVersion":"2"},"items":[]}`, kind)
	case path == "/api/v1/namespaces/kube-system":
		fmt.Fprint(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system"}}`)
	case strings.HasPrefix(path, "/api/v1/namespaces/n/pods/of-"):
		if s.hold != nil {
			s.asked <- struct{}{}
			<-s.hold
		}
		name := filepath.Base(path)
		fmt.Fprintf(w, `{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"n","name":%q,"uid":"1"},
			"spec":{"nodeName":%q,"serviceAccountName":"a",`+
			`"volumes":[{"name":"v","projected":{"sources":[{"serviceAccountToken":{"path":"token"}}]}}]}}`,
			name, strings.TrimPrefix(name, "of-"))
	default:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure",`+
			`"reason":"NotFound","code":404,"message":"%s not found"}`, path)
	}
}

// watch sends a Node, an account with a scope, or nothing. Then it sends bookmarks.
func (s *apiServer) watch(w http.ResponseWriter, req *http.Request, kind string) {
	if kind == "Node" {
		fmt.Fprintln(w, `{"type":"ADDED","object":{"apiVersion":"v1","kind":"Node",`+
			`"metadata":{"name":"me","resourceVersion":"1"}}}`)
	}
	if kind == "ServiceAccount" {
		fmt.Fprintln(w, `{"type":"ADDED","object":{"apiVersion":"v1","kind":"ServiceAccount",
			"metadata":{"namespace":"n","name":"a","resourceVersion":"1",
			"annotations":{"bulkhead.dev/node-scoped-resources":"nodes,widgets.example.com"}}}}`)
	}
	fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":%q,`+
		`"metadata":{"resourceVersion":"2","annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n", kind)
	for !s.away.Load() && req.Context().Err() == nil {
		fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":%q,"metadata":{"resourceVersion":"2"}}}`+"\n",
			kind)
		w.(http.Flusher).Flush()
		time.Sleep(10 * time.Millisecond)
	}
}

// running is the program with its API server.
type running struct {
	programtest.Program
	api   *apiServer
	log   *programtest.Log
	stop  context.CancelFunc
	ended chan error
}

func begin(t *testing.T, api *apiServer, change func(*options)) *running {
	t.Helper()
	server := httptest.NewServer(api)
	t.Cleanup(server.CloseClientConnections)
	o := defaultOptions()
	r := &running{Program: programtest.Place(t, &o.Options, server.URL), api: api, log: &programtest.Log{},
		ended: make(chan error, 1)}
	if change != nil {
		change(o)
	}
	c, err := o.config()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(klog.NewContext(t.Context(), funcr.New(r.log.Write, funcr.Options{})))
	r.stop = stop
	go func() { r.ended <- run(ctx, c) }()
	t.Cleanup(stop)
	return r
}

// tokenOf returns a review in which the node me requests a token for a pod on the given node.
func tokenOf(node string) string { return tokenBy("system:node:me", node) }

func tokenBy(user, node string) string {
	return fmt.Sprintf(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"7",
		"kind":{"group":"authentication.k8s.io","version":"v1","kind":"TokenRequest"},
		"resource":{"group":"","version":"v1","resource":"serviceaccounts"},"subResource":"token",
		"requestKind":{"group":"authentication.k8s.io","version":"v1","kind":"TokenRequest"},
		"requestResource":{"group":"","version":"v1","resource":"serviceaccounts"},"requestSubResource":"token",
		"name":"a","namespace":"n","operation":"CREATE",
		"userInfo":{"username":%q,"groups":["system:nodes","system:authenticated"]},
		"object":{"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1",
			"metadata":{"name":"a","namespace":"n"},"spec":{
			"audiences":["https://kubernetes.default.svc.cluster.local"],"expirationSeconds":3607,
			"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"of-%s","uid":"1"}}},
		"oldObject":null,"dryRun":false,"options":{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}}}`, user, node)
}

// ask sends a review as the API server does, and checks that the answer contains all parts of want.
func (r *running) ask(t *testing.T, review string, want ...string) {
	t.Helper()
	code, body, err := r.Post(t, r.TLS, webhookPath, review)
	for _, part := range want {
		if err != nil || code != http.StatusOK || !strings.Contains(body, part) {
			t.Errorf("%d %s (%v), want %s", code, body, err, part)
		}
	}
}

// The complete program: a node gets a token for its own pod and for no other pod.
func TestRun(t *testing.T) {
	r := begin(t, &apiServer{}, nil)
	r.Await(t, "/readyz", "ok")
	r.ask(t, tokenOf("me"), `"uid":"7"`, `"allowed":true`)
	r.ask(t, tokenOf("other"), `"allowed":false`, `"code":403`,
		`node requested token bound to a pod scheduled on a different node [NR-SA-3]`)
	r.ask(t, tokenBy("system:serviceaccount:n:a", "other"), `"allowed":true`)
	r.ask(t, strings.Replace(tokenOf("me"), `"of-me"`, `"gone"`, 1), `"allowed":false`, `"code":404`, `[NR-SA-2]`)
	for _, want := range []string{
		`bulkhead_lookups_total{kind="pods",outcome="ok"} 2`, `bulkhead_lookups_total{kind="pods",outcome="not-found"} 1`,
		`bulkhead_lookup_duration_seconds_count{kind="pods"} 3`, `bulkhead_requests_in_flight 0`,
		`bulkhead_certificate_expiration_timestamp_seconds{certificate="apiserver-client"}`, `process_open_fds`,
	} {
		r.Await(t, "/metrics", want)
	}
	r.stop()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	if want := `NR-SA-3`; !strings.Contains(r.log.String(), want) {
		t.Errorf("log %q, want %s", r.log, want)
	}
}

// The program denies what it cannot look up, whether it is ready or not.
func TestUnavailableAPIServerAllowsNothing(t *testing.T) {
	api := &apiServer{}
	api.away.Store(true)
	r := begin(t, api, nil)
	r.Await(t, "/readyz", "not ready: cannot look up namespaces")
	r.ask(t, tokenOf("me"), `"allowed":false`, `[NR-SA-2]`)
	api.away.Store(false)
	r.Await(t, "/readyz", "ok")
	r.ask(t, tokenOf("me"), `"allowed":true`)
	r.stop()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
}

// A lookup that runs when the review times out returns the same error as a lookup that itself times
// out.
func TestReviewTimeoutNamesThePendingLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said error
		start := time.Now()
		inTime(func(ctx context.Context, _ admission.Attributes) rules.Decision {
			<-ctx.Done()
			said = context.Cause(ctx)
			return rules.Decision{Effect: rules.Allow}
		}).Review(t.Context(), nil)
		if want := "the API server has not answered within 1.5s"; said == nil || said.Error() != want {
			t.Errorf("said %v, want %s", said, want)
		}
		if took := time.Since(start); took != reviewTimeout {
			t.Errorf("it had %v, want %v", took, reviewTimeout)
		}
	})
}

func TestOnlyTheAPIServerIsServed(t *testing.T) {
	r := begin(t, &apiServer{}, nil)
	r.Await(t, "/livez", "ok")
	anonymous := r.TLS.Clone()
	anonymous.Certificates = nil
	if code, body, err := r.Post(t, anonymous, webhookPath, tokenOf("me")); err == nil || code != 0 {
		t.Errorf("a client without a certificate is answered %d %s", code, body)
	}
	stranger := programtest.Place(t, &program.Options{}, "")
	stranger.TLS.RootCAs = r.TLS.RootCAs
	if code, body, err := r.Post(t, stranger.TLS, webhookPath, tokenOf("me")); err == nil || code != 0 {
		t.Errorf("a client with another certificate is answered %d %s", code, body)
	}
	if code, _, err := r.Post(t, r.TLS, "/authorize", tokenOf("me")); err != nil || code != http.StatusNotFound {
		t.Errorf("another path is answered %d (%v)", code, err)
	}
	r.stop()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
}

// A program that is stopped answers the requests in flight, and can still make lookups.
func TestShutdownAnswersRequestsInFlight(t *testing.T) {
	r := begin(t, &apiServer{hold: make(chan struct{}), asked: make(chan struct{}, 1)}, nil)
	r.Await(t, "/readyz", "ok")
	answered := make(chan string, 1)
	go func() {
		_, body, err := r.Post(t, r.TLS, webhookPath, tokenOf("me"))
		answered <- fmt.Sprint(body, err)
	}()
	<-r.api.asked
	r.stop()
	r.Await(t, "/readyz", "not ready: stopping")
	select {
	case err := <-r.ended:
		t.Fatalf("ended with a request in flight: %v", err)
	default:
	}
	close(r.api.hold)
	if body := <-answered; !strings.Contains(body, `"allowed":true`) {
		t.Errorf("answered %s", body)
	}
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
}

// The policy applies. Without a policy, and with the rule off, the same request is admitted.
func TestThePolicyIsInForce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.yaml")
	policy := "apiVersion: noderestriction.admission.k8s.io/v1\nkind: Configuration\nmaxTokenSeconds: 3600\n"
	if err := os.WriteFile(file, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	long := strings.Replace(tokenOf("me"), "3607", "86400", 1)
	for _, tt := range []struct {
		name   string
		change func(*options)
		want   string
	}{
		{"a token that lives too long is refused", func(o *options) { o.policyFile = file }, "[NR-SA-6]"},
		{"without a policy it is not", func(*options) {}, `"allowed":true`},
		{"rule off: allowed", func(o *options) { o.policyFile, o.extensions.RuleModes["NR-SA-6"] = file, "off" },
			`"allowed":true`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := begin(t, &apiServer{}, tt.change)
			r.Await(t, "/readyz", "ok")
			r.ask(t, long, tt.want)
			r.stop()
			if err := <-r.ended; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestInvalidPolicyEndsTheProgram(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.yaml")
	for name, content := range map[string]string{"nothing": "", "another kind": "kind: Pod\napiVersion: v1\n",
		"no YAML": "{"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		r := begin(t, &apiServer{}, func(o *options) { o.policyFile = file })
		if err := <-r.ended; err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
