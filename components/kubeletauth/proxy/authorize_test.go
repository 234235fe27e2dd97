// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
)

func answering(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
}

// only allows this right and denies every other.
func only(verb, subresource string) func(authorizer.Attributes) (Answer, error) {
	return func(a authorizer.Attributes) (Answer, error) {
		right := a.GetVerb() == verb && a.GetSubresource() == subresource && a.GetResource() == "nodes" &&
			a.GetName() == "n" &&
			a.GetUser().GetName() == "admin" && a.IsResourceRequest() && a.GetAPIVersion() == "v1"
		return Answer{Allowed: right, Cached: true}, nil
	}
}

func failing(authorizer.Attributes) (Answer, error) { return Answer{}, errors.New("no API server") }

func TestDecisions(t *testing.T) {
	for _, tt := range []struct {
		name, path string
		mode       kubeletauth.Mode
		anonymous  bool
		decide     func(authorizer.Attributes) (Answer, error)
		code       int
		body       string
	}{
		{"user with the right: answered by the kubelet", "/metrics/resource", kubeletauth.Strict, false,
			only("get", "metrics"), 200, "answer"},
		{"user with another right: denied", "/metrics/resource", kubeletauth.Strict, false, only("get", "stats"), 403,
			"Forbidden (user=admin, verb=get, resource=nodes, subresource(s)=[metrics]) [KA-METRICS-1]\n"},
		{"no credential: unauthorized", "/metrics/resource", kubeletauth.Strict, true, only("get", "metrics"), 401,
			"Unauthorized [KA-AUTH-1]\n"},
		{"second right is enough", "/pods", kubeletauth.Strict, false, only("get", "proxy"), 200, "answer"},
		{"neither right: denial names both", "/pods", kubeletauth.Strict, false, only("get", "stats"), 403,
			"Forbidden (user=admin, verb=get, resource=nodes, subresource(s)=[pods proxy]) [KA-POD-1]\n"},
		{"failed decision: error", "/pods", kubeletauth.Strict, false, failing, 500,
			"Authorization error (user=admin, verb=get, resource=nodes, subresource=pods) [KA-DECISION-1]\n"},
		{"get on nodes/proxy in strict: exec denied",
			"/exec/ns/pod/c?command=id", kubeletauth.Strict, false, only("get", "proxy"), 403,
			"Forbidden (user=admin, verb=create, resource=nodes, subresource(s)=[exec]) [KA-EXEC-1]\n"},
		{"get on nodes/proxy in compat: exec allowed", "/exec/ns/pod/c?command=id", kubeletauth.Compat, false,
			only("get", "proxy"), 200, "answer"},
		{"unclean path: rejected without authentication", "/pods//x", kubeletauth.Strict, true, failing, 400,
			"[KA-PATH-1]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := start(t, answering("answer"), func(s *settings) { s.mode = tt.mode })
			w.decides(tt.decide)
			config := w.admin()
			if tt.anonymous {
				config.Certificates = nil
			}
			got := w.do(w.client(config, true), http.MethodGet, tt.path, nil)
			if got.code != tt.code || !strings.HasSuffix(strings.TrimSpace(got.body), strings.TrimSpace(tt.body)) {
				t.Errorf("answered %d %q, want %d %q", got.code, got.body, tt.code, tt.body)
			}
			if reached := len(w.reached()) > 0; reached != (tt.code == 200) {
				t.Errorf("reached the kubelet: %v", reached)
			}
		})
	}
}

// A rule in audit mode allows the request and adds a finding.
func TestAuditedRefusals(t *testing.T) {
	w := start(t, answering("answer"), func(s *settings) { s.mode, s.audit = kubeletauth.Compat, []string{"KA-EXEC-1"} })
	w.decides(only("get", "proxy"))
	client := w.client(w.admin(), true)
	for _, path := range []string{"/exec/ns/pod/c", "/pods"} {
		if got := w.do(client, http.MethodGet, path, nil); got.code != 200 {
			t.Errorf("%s is answered %d %s", path, got.code, got.body)
		}
	}
	found := map[string]string{}
	for _, line := range w.await(3) {
		found[line.Stage+" "+line.Path] = strings.Join(line.Findings, ",")
	}
	want := map[string]string{"begin /exec/ns/pod/c": "KA-EXEC-1", "end /exec/ns/pod/c": "KA-EXEC-1", "request /pods": ""}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("findings (-want +got)\n%s", diff)
	}
}
