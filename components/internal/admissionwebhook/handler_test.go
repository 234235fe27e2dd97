// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admissionwebhook

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var podsResource = corev1.Resource("pods")

func TestAnswers(t *testing.T) {
	good := reviewOf(nil)
	bad := reply{Code: 400}
	undecodable := beyond(413, metav1.StatusReasonRequestEntityTooLarge, "a review that cannot be decoded")
	large := beyond(413, metav1.StatusReasonRequestEntityTooLarge, "a review of more than 8388608 bytes")
	object := func(object string) string { return reviewOf(func(f *fields) { f.object = object }) }
	for _, tt := range []struct {
		name string
		body string
		want reply
	}{
		{"a review in order is the reviewer's to decide", good, admitted()},
		{"an unknown field is passed over", reviewOf(func(f *fields) { f.more = `,"new":{"er":1}` }), admitted()},
		{"no dryRun is none", strings.Replace(good, `"dryRun":false`, `"dryRun":null`, 1), admitted()},
		{"an object of 3 MB is read", object(podWith(`"annotations":{"a":"` + strings.Repeat("a", 3<<20) + `"}`)),
			admitted()},
		{"10,000 ownerReferences are read",
			object(podWith(`"ownerReferences":[` + listOf10000(`{"apiVersion":"v1","kind":"Node","name":"x","uid":"1"}`) + `]`)),
			admitted()},

		{"an empty body is refused", ``, bad},
		{"a truncated body is refused", good[:len(good)-9], undecodable},
		{"two bodies are refused", good + good, undecodable},
		{"null is refused", `null`, bad},
		{"an array is refused", `[]`, bad},
		{"an empty object is refused", `{}`, bad},
		{"a NUL between tokens is refused", "\x00" + good, bad},
		{"v1beta1 is refused", strings.Replace(good, "admission.k8s.io/v1", "admission.k8s.io/v1beta1", 1), undecodable},
		{"another kind is refused", strings.Replace(good, "AdmissionReview", "SubjectAccessReview", 1), undecodable},
		{"no request is refused", `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`, bad},
		{"a null request is refused", `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":null}`, bad},
		{"a response is no request", strings.Replace(good, `"request"`, `"response"`, 1), bad},
		{"no uid is refused", reviewOf(func(f *fields) { f.uid = `""` }), bad},
		{"a uid of 10 KB is refused", reviewOf(func(f *fields) { f.uid = `"` + strings.Repeat("u", 10<<10) + `"` }), bad},
		{"a name in other case is another name", strings.Replace(good, `"request"`, `"Request"`, 1), bad},
		{"a user in other case is nobody", strings.Replace(good, `"username"`, `"userName"`, 1), undecodable},
		{"no user is refused", reviewOf(func(f *fields) { f.user = `null` }), undecodable},
		{"a name that occurs twice is refused", reviewOf(func(f *fields) { f.more = `,"userInfo":` + asAdmin }), undecodable},
		{"a request that occurs twice is refused", strings.TrimSuffix(good, "}") + `,"request":{}}`, undecodable},
		{"an operation that is no string is refused", reviewOf(func(f *fields) { f.operation = `7` }), undecodable},
		{"nesting is bounded where it is read", reviewOf(func(f *fields) { f.user = strings.Repeat("[", 60_000) }),
			undecodable},
		{"nesting is bounded where it is passed over", reviewOf(func(f *fields) { f.more = `,"new":` + nested(30_000) }),
			undecodable},
		{"nesting is bounded in objects", object(podWith(`"annotations":` + nested(30_000))), undecodable},
		{"invalid UTF-8 is refused", object(podWith("\"annotations\":{\"a\":\"\xff\"}")), undecodable},
		{"invalid UTF-8 in a user is refused", reviewOf(func(f *fields) { f.user = "{\"username\":\"admin\xff\"}" }),
			undecodable},

		// kube-apiserver allows 10,000 levels in an object, and adds two in the review.
		{"object of 9,900 levels is read", object(podWith(`"unknown":` + nested(9_900))), admitted()},
		{"object of 9,998 levels is refused", object(podWith(`"unknown":` + nested(9_998))), undecodable},

		{"9 MB are refused", object(podWith(`"annotations":{"a":"` + strings.Repeat("a", 9<<20) + `"}`)), large},
		{"9 MB that never end are refused", object(`"` + strings.Repeat("a", 9<<20))[:8<<20+1], large},
		{"9 MB without a uid are refused", strings.Repeat(" ", 9<<20), bad},

		{"an unknown operation is refused", reviewOf(func(f *fields) { f.operation = `"PATCH"` }),
			unread(`operation "PATCH" is not known`)},
		{"no operation is refused", reviewOf(func(f *fields) { f.operation = `""` }), unread(`operation "" is not known`)},
		{"no resource is refused", reviewOf(func(f *fields) { f.resource = `{}` }), unread("resource is missing")},
		{"no kind is refused", reviewOf(func(f *fields) { f.kind = `{}` }), unread("kind is missing")},
		{"a create without an object is refused", object(`null`), unread("object is missing")},
		{"another version of a resource is refused",
			reviewOf(func(f *fields) { f.resource = strings.Replace(podGVR, "v1", "v2", 1) }),
			unread(`resource pods has version "v2", want v1`)},
		{"another kind than the resource's is refused",
			reviewOf(func(f *fields) { f.kind = strings.Replace(podGVK, "Pod", "Node", 1) }),
			unread("kind is /v1, Kind=Node, want /v1, Kind=Pod")},
		{"an object of another kind is refused", object(`{"kind":"Node","apiVersion":"v1"}`),
			unread("object is a /v1, Kind=Node, want /v1, Kind=Pod")},
		{"an object of no kind is refused", object(`{}`), unread("object is a /, Kind=, want /v1, Kind=Pod")},
		{"an object of kind in other case is refused", object(`{"Kind":"Pod","apiVersion":"v1"}`),
			unread("object is a /v1, Kind=, want /v1, Kind=Pod")},
		{"an object that is an array is refused", object(`[]`), unread("decoding object: it has a value of a wrong type")},
		{"an object that is a string is refused", object(`"secret"`),
			unread("decoding object: it has a value of a wrong type")},
		{"a field of another type is refused, and not quoted", object(podWith(`"name":12345`)),
			unread("decoding object: metadata.name has a value that is not a string")},
		{"a time that is none is refused, and not quoted", object(podWith(`"creationTimestamp":"secret"`)),
			unread("decoding object: it has a value of a wrong type")},
		{"a field that occurs twice is refused", object(podWith(`"name":"x"`)),
			unread(`decoding object: duplicate field "metadata.name"`)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := New(testConfig(allowing()))
			if diff := cmp.Diff(tt.want, replyTo(t, h, tt.body)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			expectIdle(t, h)
		})
	}
}

// podWith returns the pod b with additional metadata.
func podWith(metadata string) string {
	return strings.Replace(podB, `"name":"b"`, `"name":"b",`+metadata, 1)
}

func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

func listOf10000(one string) string { return strings.TrimSuffix(strings.Repeat(one+",", 10_000), ",") }

func expectIdle(t *testing.T, h *Handler) {
	t.Helper()
	if err := h.Idle(); err != nil {
		t.Error(err)
	}
}

func TestOnlyNodesAreReviewed(t *testing.T) {
	as := func(user, object string) string {
		return reviewOf(func(f *fields) { f.user, f.object = user, object })
	}
	for _, tt := range []struct {
		name, body string
		asked      bool
	}{
		{"a node", as(asNodeX, podB), true},
		{"a node without a name", as(`{"username":"system:node:"}`, podB), true},
		{"somebody else", as(asAdmin, podB), false},
		{"somebody else with an object that is none", as(asAdmin, `"x"`), false},
		{"somebody else without an object", as(asAdmin, `null`), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := refusing()
			h := New(testConfig(r))
			got := replyTo(t, h, tt.body)
			if got.Code != 200 || got.Response.Allowed == tt.asked || (len(r.asked) == 1) != tt.asked {
				t.Errorf("asked %d times, answered %+v", len(r.asked), got)
			}
			expectIdle(t, h)
		})
	}
}

func TestAPanicIsARefusal(t *testing.T) {
	want := reply{200, response{UID: "u", Status: &metav1.Status{
		Status: "Failure", Code: 500, Reason: metav1.StatusReasonInternalError, Message: "internal error",
	}}}
	for name, r := range map[string]Reviewer{
		"of the reviewer":           ReviewerFunc(func(context.Context, admission.Attributes) rules.Decision { panic("oh") }),
		"for a forgotten decision":  &reviewer{},
		"for no opinion by no rule": &reviewer{answer: rules.Decision{Effect: rules.NoOpinion}},
	} {
		t.Run(name, func(t *testing.T) {
			h := New(testConfig(r))
			if diff := cmp.Diff(want, replyTo(t, h, reviewOf(nil))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			expectIdle(t, h)
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
		{"an unheard-of method is refused", "BREW", "application/json", 405},
		{"protobuf is refused", "POST", "application/vnd.kubernetes.protobuf", 415},
		{"no content type is refused", "POST", "", 415},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := httptest.NewRequest(tt.method, "/admit", strings.NewReader(reviewOf(nil)))
			req.Header.Set("Content-Type", tt.contentType)
			w := httptest.NewRecorder()
			New(testConfig(allowing())).ServeHTTP(w, req)
			if w.Code != tt.want {
				t.Errorf("status %d, want %d", w.Code, tt.want)
			}
		})
	}
}

// The length of a body may be unknown before it is read. The limit applies all the same.
func TestABodyOfUnknownLength(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       string
	}{
		{"that is in order", reviewOf(nil), `"allowed":true`},
		{"that is too large", reviewOf(func(f *fields) { f.object = `"` + strings.Repeat("a", 9<<20) + `"` }), `"code":413`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := httptest.NewRequest(http.MethodPost, "/admit", strings.NewReader(tt.body))
			req.Header.Set("Content-Type", "application/json")
			req.ContentLength = -1
			w := httptest.NewRecorder()
			h := New(testConfig(allowing()))
			h.ServeHTTP(w, req)
			if w.Code != 200 || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("answer %d %s, want %s", w.Code, w.Body, tt.want)
			}
			expectIdle(t, h)
		})
	}
}

// With AuditOnly, each denial becomes a finding in the audit event of the API server.
func TestAuditOnlyDeniesNothing(t *testing.T) {
	audited := func(annotations map[string]string) reply {
		return reply{200, response{UID: "u", Allowed: true, AuditAnnotations: annotations}}
	}
	var twice Reviewer = ReviewerFunc(func(context.Context, admission.Attributes) rules.Decision {
		return rules.Decision{Effect: rules.Allow, Findings: []rules.Finding{
			{Rule: "NR-TEST-1", Message: "no label"}, {Rule: "NR-TEST-2", Message: "no taint"}}}
	})
	for _, tt := range []struct {
		name     string
		reviewer Reviewer
		body     string
		want     reply
	}{
		{"allowed", allowing(), reviewOf(nil), admitted()},
		{"denied by a rule", refusing(), reviewOf(nil), audited(map[string]string{"audited-rules": "NR-TEST-1",
			"would-refuse": `pods "b" is forbidden: no [NR-TEST-1] [NR-TEST-1]`})},
		{"two findings", twice, reviewOf(nil), audited(map[string]string{"audited-rules": "NR-TEST-1,NR-TEST-2",
			"would-refuse": "no label [NR-TEST-1]; no taint [NR-TEST-2]"})},
		{"too large", allowing(), reviewOf(func(f *fields) { f.object = `"` + strings.Repeat("a", 9<<20) + `"` }),
			audited(map[string]string{"audited-rules": "NR-LIMIT",
				"would-refuse": "a review of more than 8388608 bytes [NR-LIMIT]"})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config := testConfig(tt.reviewer)
			config.AuditOnly = func(rules.ID) bool { return true }
			if diff := cmp.Diff(tt.want, replyTo(t, New(config), tt.body)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
