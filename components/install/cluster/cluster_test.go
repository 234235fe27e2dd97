// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

func TestParseProcess(t *testing.T) {
	const start = "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 1.79e+09\n"
	for _, tc := range []struct {
		name, metrics string
		want          Process
		ok            bool
	}{
		{"a server with --authorization-mode has no file", start, Process{Start: "1.79e+09"}, true},
		{"a server with --authorization-config names its file's hash", start +
			`apiserver_authorization_config_controller_last_config_info{apiserver_id_hash="sha256:aa",hash="sha256:bb"} 1` +
			"\n",
			Process{Start: "1.79e+09", AuthorizationHash: "bb"}, true},
		{"static validating webhooks are reported", "process_start_time_seconds 1\n" +
			`apiserver_manifest_admission_config_controller_last_config_info{apiserver_id_hash="sha256:aa",` +
			`hash="sha256:cc",plugin="ValidatingAdmissionWebhook"} 1` + "\n" +
			`apiserver_manifest_admission_config_controller_last_config_info{apiserver_id_hash="sha256:aa",` +
			`hash="sha256:dd",plugin="MutatingAdmissionWebhook"} 1` + "\n",
			Process{Start: "1", AdmissionHash: "sha256:cc"}, true},
		{"writes without node-restriction are counted", start +
			`apiserver_admission_webhook_fail_open_count{name="node-restriction.bulkhead.dev",type="validating"} 7` + "\n" +
			`apiserver_admission_webhook_fail_open_count{name="other.example.com",type="validating"} 8` + "\n" +
			`apiserver_admission_webhook_request_total{name="node-restriction.bulkhead.dev",type="validating"} 9` + "\n",
			Process{Start: "1.79e+09", Skipped: "7"}, true},
		{"metrics without a start time are rejected", "up 1\n", Process{}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ParseProcess(tc.metrics)
			if diff := cmp.Diff(tc.want, got); diff != "" || (err == nil) != tc.ok {
				t.Errorf("error %v; -want +got:\n%s", err, diff)
			}
		})
	}
}

// serve returns a client of a server with this handler.
func serve(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := NewForConfig(
		&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestCanaryDecision(t *testing.T) {
	allow := authorizationv1.SubjectAccessReviewStatus{Allowed: true}
	for _, tc := range []struct {
		name   string
		answer authorizationv1.SubjectAccessReviewStatus
		// second is the answer about a resource that no role has.
		second authorizationv1.SubjectAccessReviewStatus
		want   Decision
		ok     bool
	}{
		{"denial is returned with its reason",
			authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: "no [NA-SECRET-1]"}, allow,
			Decision{Reason: "no [NA-SECRET-1]"}, true},
		{"failed call is returned", authorizationv1.SubjectAccessReviewStatus{EvaluationError: "refused"}, allow,
			Decision{EvaluationError: "refused"}, true},
		{"an allowance is an alarm", allow, authorizationv1.SubjectAccessReviewStatus{}, Decision{}, false},
		{"an allowance by RBAC, and node-authorizer only audits", allow,
			authorizationv1.SubjectAccessReviewStatus{Reason: "no [NA-RESOURCE-1]"},
			Decision{Reason: "no [NA-RESOURCE-1]"}, true},
		{"everything is allowed", allow, authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: "[NA-X-1]"},
			Decision{}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var asked authorizationv1.SubjectAccessReview
			client := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
					t.Error(err)
				}
				answer := asked
				answer.Status = tc.answer
				if asked.Spec.ResourceAttributes.Resource != "secrets" {
					answer.Status = tc.second
				}
				w.Header().Set("Content-Type", "application/json")
				if err := json.NewEncoder(w).Encode(answer); err != nil {
					t.Error(err)
				}
			})
			got, err := client.CanaryDecision(t.Context())
			if diff := cmp.Diff(tc.want, got); diff != "" || (err == nil) != tc.ok {
				t.Errorf("error %v; -want +got:\n%s", err, diff)
			}
			if asked.Spec.User != "system:node:bulkhead-canary" {
				t.Errorf("asked about %q", asked.Spec.User)
			}
		})
	}
}

func TestApplyIsServerSide(t *testing.T) {
	var seen *http.Request
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen = r
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"x"}}`))
	})
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": map[string]any{"name": "x"}}}
	if err := client.Apply(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	if seen.Method != http.MethodPatch || seen.URL.Path != "/apis/rbac.authorization.k8s.io/v1/clusterroles/x" ||
		seen.URL.Query().Get("fieldManager") != "bulkhead" ||
		seen.Header.Get("Content-Type") != "application/apply-patch+yaml" {
		t.Errorf("%s %s, %s", seen.Method, seen.URL, seen.Header.Get("Content-Type"))
	}
	object.SetKind("Aggregate")
	if err := client.Apply(t.Context(), object); err == nil || !strings.Contains(err.Error(), "does not know this kind") {
		t.Errorf("an unknown kind: %v", err)
	}
}

func TestAFlowSchemaIsApplied(t *testing.T) {
	var path string
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.Path
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"FlowSchema","metadata":{"name":"x"}}`))
	})
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "FlowSchema", "metadata": map[string]any{"name": "x"}}}
	if err := client.Apply(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	if want := "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/x"; path != want {
		t.Errorf("applied at %s, want %s", path, want)
	}
}

func TestFailingChecks(t *testing.T) {
	body := "[+]ping ok\n[-]poststarthook/rbac/bootstrap-roles failed: reason withheld\n[+]etcd ok\n[-]shutdown failed: " +
		"reason withheld\nreadyz check failed\n"
	want := []string{"poststarthook/rbac/bootstrap-roles", "shutdown"}
	if diff := cmp.Diff(want, failingChecks(body)); diff != "" {
		t.Error(diff)
	}
	if got := failingChecks("ok"); got != nil {
		t.Errorf("a ready server fails %q", got)
	}
}
