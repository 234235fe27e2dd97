// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/component-base/metrics"
	testclock "k8s.io/utils/clock/testing"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	limitRule = rules.Rule{ID: "NA-LIMIT"}
	allowRule = rules.Rule{ID: "NA-TEST-1"}
)

func nodeName(u user.Info) (string, bool) { return strings.CutPrefix(u.GetName(), "system:node:") }

// asX allows every request of the node x, and no other request.
func asX(_ context.Context, a authorizer.Attributes) rules.Decision {
	if node, ok := nodeName(a.GetUser()); ok && node == "x" {
		return rules.Decision{Effect: rules.Allow, Rule: allowRule.ID}
	}
	return rules.Decision{Effect: rules.NoOpinion, Rule: allowRule.ID, Message: "not x"}
}

func testConfig(authorize AuthorizerFunc) Config {
	return Config{
		Authorizer: authorize,
		Config: webhook.Config{
			NodeName:  nodeName,
			Limits:    webhook.Limits{InFlight: 8, InFlightPerNode: 4},
			LimitRule: limitRule,
			Rules:     []rules.Rule{limitRule, allowRule},
			Registry:  metrics.NewKubeRegistry(),
			Logger:    logr.Discard(),
			Clock:     testclock.NewFakePassiveClock(time.Unix(0, 0)),
		},
	}
}

const (
	head   = `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":`
	asNode = `"user":"system:node:x","groups":["system:nodes"]`
	getPod = `"resourceAttributes":{"verb":"get","resource":"pods","namespace":"a","name":"b"}`
	good   = head + `{` + asNode + `,` + getPod + `}}`
)

// selecting returns a review with n field requirements.
func selecting(n int) string {
	list := strings.TrimSuffix(strings.Repeat(`{"key":"a","operator":"In","values":["b"]},`, n), ",")
	return head + `{` + asNode +
		`,"resourceAttributes":{"verb":"list","resource":"pods","fieldSelector":{"requirements":[` + list + `]}}}}`
}

func post(h http.Handler, body string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(http.MethodPost, "/authorize", strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

func denied(reason string) status { return status{Denied: true, Reason: reason} }

// reply is an answer as kube-apiserver reads it: a status code, and, if the code is 200, a status.
type reply struct {
	Code   int
	Status status
}

func replyTo(t *testing.T, h http.Handler, body string) reply {
	t.Helper()
	w := post(h, body)
	got := reply{Code: w.Code}
	if w.Code != http.StatusOK {
		return got
	}
	var a struct {
		APIVersion, Kind string
		Status           status
	}
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		t.Fatalf("answer %q: %v", w.Body, err)
	}
	if a.APIVersion != apiVersion || a.Kind != kind {
		t.Errorf("answer is a %s %s", a.APIVersion, a.Kind)
	}
	got.Status = a.Status
	return got
}

func TestAnswers(t *testing.T) {
	allowed := reply{200, status{Allowed: true, Reason: "[NA-TEST-1]"}}
	notX := reply{200, status{Reason: "not x [NA-TEST-1]"}}
	bad := reply{Code: 400}
	large := reply{200, denied("a review of more than 65536 bytes [NA-LIMIT]")}
	many := reply{200, denied("more than 1000 selector requirements [NA-LIMIT]")}
	named := func(user string) string { return head + `{"user":` + user + `,` + getPod + `}}` }
	for _, tt := range []struct {
		name string
		body string
		want reply
	}{
		{"a review in order is the authorizer's to decide", good, allowed},
		{"no opinion is neither allowed nor denied", named(`"system:node:y"`), notX},
		{"a non-resource review is understood", head + `{` + asNode + `,"nonResourceAttributes":{"verb":"get","path":"/"}}}`,
			allowed},
		{"an unknown field is passed over", strings.Replace(good, `"spec"`, `"new":{"er":1},"spec"`, 1), allowed},
		{"metadata is not read", strings.Replace(good, `"spec"`, `"metadata":{"creationTimestamp":null},"spec"`, 1), allowed},
		{"an empty body is refused", ``, bad},
		{"a truncated body is refused", good[:len(good)-9], bad},
		{"two bodies are refused", good + good, bad},
		{"null is refused", `null`, bad},
		{"an array is refused", `[]`, bad},
		{"an empty object is refused", `{}`, bad},
		{"a NUL between tokens is refused", "\x00" + good, bad},
		{"an unknown version is refused", strings.Replace(good, "k8s.io/v1", "k8s.io/v1beta1", 1), bad},
		{"an unknown kind is refused", strings.Replace(good, "Subject", "LocalSubject", 1), bad},
		{"no spec is refused", `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview"}`, bad},
		{"neither kind of attributes is refused", head + `{` + asNode + `}}`, bad},
		{"both kinds of attributes are refused",
			head + `{` + asNode + `,` + getPod + `,"nonResourceAttributes":{"verb":"get","path":"/"}}}`, bad},
		{"a name in other case is another name", strings.Replace(good, `"spec"`, `"Spec"`, 1), bad},
		{"a user in other case is nobody", strings.Replace(good, `"user"`, `"User"`, 1), notX},
		{"a name that occurs twice is refused", head + `{"user":"y",` + asNode + `,` + getPod + `}}`, bad},
		{"a spec that occurs twice is refused", strings.TrimSuffix(good, "}") + `,"spec":{}}`, bad},
		{"a user that is no string is refused", named(`{"a":1}`), bad},
		{"nesting is bounded where it is read", named(strings.Repeat("[", 60_000)), bad},
		{"nesting is bounded where it is passed over",
			strings.Replace(good, `"spec"`, `"new":`+strings.Repeat("[", 30_000)+strings.Repeat("]", 30_000)+`,"spec"`, 1), bad},
		{"4 MB are denied", strings.Replace(good, `"spec"`, `"new":"`+strings.Repeat("a", 4<<20)+`","spec"`, 1), large},
		{"as many requirements as the bound are read", selecting(1000), allowed},
		{"one requirement more is denied", selecting(1001), many},
		{"ten thousand requirements are denied", selecting(10_000), large},
		{"a node with a line break is another node", named(`"system:node:x\n"`), notX},
		{"a node with a NUL is another node", named(`"system:node:x\u0000"`), notX},
		{"a node in another alphabet is another node", named(`"system:node:х"`), notX},
		{"a node with 10 KB of name is another node", named(`"system:node:` + strings.Repeat("x", 10<<10) + `"`), notX},
		{"a node without a name is another node", named(`"system:node:"`), notX},
		{"invalid UTF-8 is another node", named("\"system:node:x\xff\""), notX},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := replyTo(t, New(testConfig(asX)), tt.body)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestAuthorizerOutcomes(t *testing.T) {
	answering := func(d rules.Decision) AuthorizerFunc {
		return func(context.Context, authorizer.Attributes) rules.Decision { return d }
	}
	for _, tt := range []struct {
		name      string
		authorize AuthorizerFunc
		want      status
	}{
		{"a deny is denied", answering(rules.Decision{Message: "no"}), status{Denied: true, Reason: "no"}},
		{"a forgotten decision is denied", answering(rules.Decision{}), status{Denied: true}},
		{"an unknown effect is denied", answering(rules.Decision{Effect: rules.Effect(7)}), status{Denied: true}},
		{"no opinion is neither", answering(rules.Decision{Effect: rules.NoOpinion}), status{}},
		{"a reason is safe to show", answering(rules.Decision{Message: "\"\n\x00<\u2028"}),
			status{Denied: true, Reason: "\"\ufffd\ufffd<\ufffd"}},
		{"a long reason keeps its rule", answering(rules.Decision{Rule: allowRule.ID, Message: strings.Repeat("a", 60<<10)}),
			status{
				Denied: true, Reason: strings.Repeat("a", 1<<10-len(" [NA-TEST-1]")) + "… [NA-TEST-1]",
			}},
		{
			"a panic is denied",
			func(context.Context, authorizer.Attributes) rules.Decision { panic("oh") },
			status{Denied: true, Reason: "internal error", EvaluationError: "the authorizer panicked"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := New(testConfig(tt.authorize))
			if diff := cmp.Diff(reply{200, tt.want}, replyTo(t, h, good)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if err := h.Idle(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOtherMethodsAndContentTypesAreRejected(t *testing.T) {
	for _, tt := range []struct {
		name, method, contentType string
		want                      int
	}{
		{"POST of JSON is read", "POST", "application/json", 200},
		{"a charset changes nothing", "POST", "application/json; charset=utf-8", 200},
		{"GET is refused", "GET", "application/json", 405},
		{"PUT is refused", "PUT", "application/json", 405},
		{"an unheard-of method is refused", "BREW", "application/json", 405},
		{"protobuf is refused", "POST", "application/vnd.kubernetes.protobuf", 415},
		{"no content type is refused", "POST", "", 415},
		{"a broken content type is refused", "POST", ";;", 415},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := httptest.NewRequest(tt.method, "/authorize", strings.NewReader(good))
			req.Header.Set("Content-Type", tt.contentType)
			w := httptest.NewRecorder()
			New(testConfig(asX)).ServeHTTP(w, req)
			if w.Code != tt.want {
				t.Errorf("status %d, want %d", w.Code, tt.want)
			}
		})
	}
}
