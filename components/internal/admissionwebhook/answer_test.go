// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admissionwebhook

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func statusWith(code int32, reason metav1.StatusReason, message string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: reason, Message: message}}
}

func failure(code int32, reason metav1.StatusReason, message string) *metav1.Status {
	return &metav1.Status{Status: "Failure", Code: code, Reason: reason, Message: message}
}

func TestRefusals(t *testing.T) {
	seconds := apierrors.NewTooManyRequests("later", 7)
	seconds.ErrStatus.Details.Causes = []metav1.StatusCause{{Message: "cause"}}
	seconds.ErrStatus.Details.Name = "b\n"
	later := failure(429, metav1.StatusReasonTooManyRequests, "later")
	later.Details = &metav1.StatusDetails{Name: "b\ufffd"}
	for _, tt := range []struct {
		name string
		in   *apierrors.StatusError
		want *metav1.Status
	}{
		{"a 403 stays one", statusWith(403, "Forbidden", "no [NR-TEST-1]"), failure(403, "Forbidden", "no [NR-TEST-1]")},
		{"a 404 stays one", statusWith(404, "NotFound", "no [NR-TEST-1]"), failure(404, "NotFound", "no [NR-TEST-1]")},
		{"a 500 stays one", statusWith(500, "InternalError", "no"), failure(500, "InternalError", "no")},
		{"no code is a 403", statusWith(0, "", "no"), failure(403, "Forbidden", "no")},
		{"a 200 is a 403", statusWith(200, "", "no"), failure(403, "Forbidden", "no")},
		{"a 600 is a 403", statusWith(600, "", "no"), failure(403, "Forbidden", "no")},
		{"a success is a failure",
			&apierrors.StatusError{ErrStatus: metav1.Status{Status: "Success", Code: 403, Reason: "Forbidden"}},
			failure(403, "Forbidden", "")},
		{"a message is safe to show", statusWith(403, "Forbidden", "a\n\x00\u202e [NR-TEST-1]"),
			failure(403, "Forbidden", "a\ufffd\ufffd\ufffd [NR-TEST-1]")},
		{"a long message keeps its rule", statusWith(403, "Forbidden", testRule.Reason(strings.Repeat("a", 60<<10))),
			failure(403, "Forbidden", strings.Repeat("a", 1<<10-len(" [NR-TEST-1]"))+"… [NR-TEST-1]")},
		{"details lose when to come again and their causes", seconds, later},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := New(testConfig(&reviewer{answer: rules.Decision{Rule: testRule.ID, Status: &tt.in.ErrStatus}}))
			want := reply{200, response{UID: "u", Status: tt.want, AuditAnnotations: map[string]string{"rule": "NR-TEST-1"}}}
			if diff := cmp.Diff(want, replyTo(t, h, reviewOf(nil))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestWhatGoesWithAnAnswer(t *testing.T) {
	no := statusWith(403, "Forbidden", "no [NR-TEST-1]")
	words := map[string]string{}
	for i := range 100 {
		words[fmt.Sprintf("k%02d", i)] = "v"
	}
	few := map[string]string{}
	for i := range maxAnnotations {
		few[fmt.Sprintf("k%02d", i)] = "v"
	}
	for _, tt := range []struct {
		name string
		in   rules.Decision
		want response
	}{
		{"nothing", rules.Decision{Effect: rules.Allow}, response{Allowed: true}},
		{"a denial without a status", rules.Decision{Rule: "NR-TEST-1", Message: "no"}, response{
			Status: failure(403, "Forbidden", "no [NR-TEST-1]"), AuditAnnotations: map[string]string{"rule": "NR-TEST-1"},
		}},
		{"findings", rules.Decision{Effect: rules.Allow, Findings: []rules.Finding{{Rule: "NR-A-1"}, {Rule: "NR-B-2"}}},
			response{Allowed: true, AuditAnnotations: map[string]string{"audited-rules": "NR-A-1,NR-B-2"}}},
		{"a refusal with findings",
			rules.Decision{Rule: "NR-TEST-1", Status: &no.ErrStatus, Findings: []rules.Finding{{Rule: "NR-A-1"}}}, response{
				Status:           failure(403, "Forbidden", "no [NR-TEST-1]"),
				AuditAnnotations: map[string]string{"rule": "NR-TEST-1", "audited-rules": "NR-A-1"},
			}},
		{"words on an admission", rules.Decision{Effect: rules.Allow, Annotations: map[string]string{"labels": "a\n"}},
			response{Allowed: true, AuditAnnotations: map[string]string{"labels": "a\ufffd"}}},
		{"keys that the API server would not take",
			rules.Decision{Effect: rules.Allow,
				Annotations: map[string]string{"": "v", "a/b": "v", "a b": "v", strings.Repeat("a", 64): "v"}},
			response{Allowed: true}},
		{"words that claim another rule",
			rules.Decision{Rule: "NR-TEST-1", Status: &no.ErrStatus, Annotations: map[string]string{"rule": "NR-OTHER-1"}},
			response{
				Status: failure(403, "Forbidden", "no [NR-TEST-1]"), AuditAnnotations: map[string]string{"rule": "NR-TEST-1"},
			}},
		{"many words", rules.Decision{Effect: rules.Allow, Annotations: words},
			response{Allowed: true, AuditAnnotations: few}},
		{"a long word", rules.Decision{Effect: rules.Allow, Annotations: map[string]string{"k": strings.Repeat("a", 2<<10)}},
			response{
				Allowed: true, AuditAnnotations: map[string]string{"k": strings.Repeat("a", 1<<10) + "…"},
			}},
		{"warnings", rules.Decision{Effect: rules.Allow, Warnings: []string{"a", "", "b\n"}},
			response{Allowed: true, Warnings: []string{"a", "b\ufffd"}}},
		{"many warnings", rules.Decision{Effect: rules.Allow, Warnings: slices.Repeat([]string{"a"}, 100)},
			response{Allowed: true, Warnings: slices.Repeat([]string{"a"}, 10)}},
		{"a long warning", rules.Decision{Effect: rules.Allow, Warnings: []string{strings.Repeat("a", 300)}},
			response{Allowed: true, Warnings: []string{strings.Repeat("a", 250) + "…"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.UID = "u"
			h := New(testConfig(&reviewer{answer: tt.in}))
			if diff := cmp.Diff(reply{200, tt.want}, replyTo(t, h, reviewOf(nil))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestUIDIn(t *testing.T) {
	for _, tt := range []struct{ name, head, want string }{
		{"at the start", reviewOf(nil)[:120], "u"},
		{"of a body that ends within it", `{"request":{"uid":"u`, ""},
		{"behind other fields", `{"a":{"b":[1]},"request":{"c":null,"uid":"u",`, "u"},
		{"behind a field that does not end", `{"a":[1,`, ""},
		{"outside of the request", `{"uid":"u","request":{"a":1}}`, ""},
		{"that is no string", `{"request":{"uid":7}}`, ""},
		{"that is empty", `{"request":{"uid":""}}`, ""},
		{"that is long", `{"request":{"uid":"` + strings.Repeat("u", 257) + `"}}`, ""},
		{"of a request that is none", `{"request":"uid"}`, ""},
		{"of an array", `[{"request":{"uid":"u"}}]`, ""},
		{"of nothing", ``, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := uidIn([]byte(tt.head))
			if ok != (tt.want != "") || ok && string(got) != tt.want {
				t.Errorf("%q, %v, want %q", got, ok, tt.want)
			}
		})
	}
}
