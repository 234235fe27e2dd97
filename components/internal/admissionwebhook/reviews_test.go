// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admissionwebhook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/component-base/metrics"
	testclock "k8s.io/utils/clock/testing"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	limitRule = rules.Rule{ID: "NR-LIMIT"}
	testRule  = rules.Rule{ID: "NR-TEST-1"}
)

func nodeName(u user.Info) (string, bool) { return strings.CutPrefix(u.GetName(), "system:node:") }

// reviewer gives the same decision on every request and records the attributes.
type reviewer struct {
	answer rules.Decision

	mu    sync.Mutex
	asked []admission.Attributes
}

func (r *reviewer) Review(_ context.Context, a admission.Attributes) rules.Decision {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, a)
	return r.answer
}

func allowing() *reviewer { return &reviewer{answer: rules.Decision{Effect: rules.Allow}} }

func refusing() *reviewer {
	return &reviewer{answer: rules.Decision{Rule: testRule.ID, Status: &apierrors.NewForbidden(
		podsResource, "b", fmt.Errorf("%s", testRule.Reason("no"))).ErrStatus}}
}

func testConfig(r Reviewer) Config {
	return Config{
		Reviewer: r,
		Config: webhook.Config{
			NodeName:  nodeName,
			Limits:    webhook.Limits{InFlight: 8, InFlightPerNode: 4},
			LimitRule: limitRule,
			Rules:     []rules.Rule{limitRule, testRule},
			Registry:  metrics.NewKubeRegistry(),
			Logger:    logr.Discard(),
			Clock:     testclock.NewFakePassiveClock(time.Unix(0, 0)),
		},
	}
}

// fields are those of an AdmissionRequest, as JSON, in the order of the API server.
type fields struct {
	uid, kind, resource, subresource, name, operation, user, object, old, more string
}

const (
	podGVR  = `{"group":"","version":"v1","resource":"pods"}`
	podGVK  = `{"group":"","version":"v1","kind":"Pod"}`
	nodeGVR = `{"group":"","version":"v1","resource":"nodes"}`
	podB    = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"b","namespace":"a"},"spec":{"nodeName":"x"}}`
	asNodeX = `{"username":"system:node:x","uid":"1","groups":["system:nodes"],"extra":{"k":["v"]}}`
	asAdmin = `{"username":"admin"}`
)

// reviewOf returns a review of the create of a pod by the node x, changed by edit.
func reviewOf(edit func(*fields)) string {
	f := fields{
		uid: `"u"`, kind: podGVK, resource: podGVR, subresource: `""`, name: `"b"`, operation: `"CREATE"`,
		user: asNodeX, object: podB, old: `null`,
	}
	if edit != nil {
		edit(&f)
	}
	return `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":` + f.uid + `,"kind":` + f.kind +
		`,"resource":` + f.resource + `,"subResource":` + f.subresource + `,"requestKind":` + f.kind + `,"name":` + f.name +
		`,"namespace":"a","operation":` + f.operation + `,"userInfo":` + f.user + `,"object":` + f.object + `,"oldObject":` +
		f.old +
		`,"dryRun":false,"options":{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}` + f.more + `}}`
}

func post(h http.Handler, body string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(http.MethodPost, "/admit", strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

// reply is an answer as kube-apiserver reads it: a status code, and, if the code is 200, a
// response.
type reply struct {
	Code     int
	Response response
}

func replyTo(t *testing.T, h http.Handler, body string) reply {
	t.Helper()
	w := post(h, body)
	got := reply{Code: w.Code}
	if w.Code != http.StatusOK {
		return got
	}
	var a answered
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		t.Fatalf("answer %q: %v", w.Body, err)
	}
	if a.APIVersion != apiVersion || a.Kind != kind {
		t.Errorf("answer is a %s %s", a.APIVersion, a.Kind)
	}
	got.Response = a.Response
	return got
}

func admitted() reply { return reply{200, response{UID: "u", Allowed: true}} }

// unread is the reply to a review that is rejected with 400.
func unread(message string) reply {
	return reply{200, response{UID: "u", Status: &metav1.Status{
		Status: "Failure", Code: 400, Reason: metav1.StatusReasonBadRequest, Message: message,
	}}}
}

// beyond is a denial that cites the rule of limits.
func beyond(code int32, reason metav1.StatusReason, text string) reply {
	return reply{200, response{
		UID:              "u",
		Status:           &metav1.Status{Status: "Failure", Code: code, Reason: reason, Message: text + " [NR-LIMIT]"},
		AuditAnnotations: map[string]string{"rule": "NR-LIMIT"},
	}}
}
