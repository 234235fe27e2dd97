// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/bulkhead-k8s/bulkhead/components/internal/sarwebhook"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// BenchmarkAuthorize measures one decision. It compares it with an authorizer that has a
// constant decision, and with the node authorizer for the same request.
func BenchmarkAuthorize(b *testing.B) {
	scoped := newOver(b, clusterOf(Account{Scope: mustScope(b, usualScope)}))
	held := row{asks: request{Verb: "get", Resource: "secrets", Namespace: "ns", Name: "my-secret"}}.complete()
	other := row{asks: request{Verb: "get", Resource: "secrets", Namespace: "ns", Name: "their-secret"}}.complete()
	free := row{asks: request{Verb: "list", Resource: "services"}}.complete()
	patched := row{asks: request{Verb: "delete", Resource: "pods", Namespace: "ns", Name: "my-pod"}}.complete()
	asNode := *held
	asNode.User = &user.DefaultInfo{Name: "system:node:me", Groups: nodeGroups}
	for _, bc := range []struct {
		name string
		z    NodeAuthorizer
		asks *request
	}{
		{"scoped-allowed", scoped, held},
		{"scoped-denied", scoped, other},
		{"out-of-scope", scoped, free},
		{"two-questions", scoped, patched},
		{"node-authorizer", scoped.Node, &asNode},
	} {
		b.Run(bc.name, func(b *testing.B) {
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				_ = bc.z.Decide(ctx, bc.asks)
			}
		})
	}
}

// BenchmarkParseScope measures the cost of a hostile annotation.
func BenchmarkParseScope(b *testing.B) {
	for name, value := range map[string]string{"usual": usualScope, "256KiB": string(make([]byte, 256<<10))} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = ParseScope(value)
			}
		})
	}
}

// discard is a ResponseWriter without cost.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// BenchmarkHandler measures one review of an account with a scope, from the request body to the
// response, without HTTP. It compares a constant decision with that of the Authorizer.
func BenchmarkHandler(b *testing.B) {
	constant := sarwebhook.AuthorizerFunc(func(context.Context, authorizer.Attributes) rules.Decision {
		return noOpinion(asItsNode)
	})
	scoped := newOver(b, clusterOf(Account{Scope: mustScope(b, usualScope)}))
	for _, bc := range []struct {
		name string
		z    sarwebhook.Authorizer
	}{{"constant", constant}, {"scoped", scoped}} {
		b.Run(bc.name, func(b *testing.B) { benchmarkHandler(b, bc.z) })
	}
}

func benchmarkHandler(b *testing.B, z sarwebhook.Authorizer) {
	b.Helper()
	h := sarwebhook.New(sarwebhook.Config{
		Authorizer: z,
		Config: webhook.Config{
			NodeName: func(user.Info) (string, bool) { return "me", true },
			Limits:   webhook.Limits{InFlight: 10, InFlightPerNode: 10}, LimitRule: limit, Rules: Rules,
			Registry: metrics.NewKubeRegistry(), Logger: klog.Background().V(99), Clock: clock.RealClock{},
		},
	})
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	go h.Run(ctx)
	review := reviewOf(b, row{asks: request{Verb: "get", Resource: "secrets", Namespace: "ns",
		Name: "my-secret"}}.complete())
	body := strings.NewReader(review)
	req := httptest.NewRequest(http.MethodPost, "/authorize-scoped", io.NopCloser(body))
	req.Header.Set("Content-Type", "application/json")
	w := discard{http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		body.Reset(review)
		h.ServeHTTP(w, req)
	}
}

// reviewOf returns the SubjectAccessReview that kube-apiserver sends for a request.
func reviewOf(tb testing.TB, a *request) string {
	tb.Helper()
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range a.User.GetExtra() {
		extra[key] = values
	}
	data, err := json.Marshal(&authorizationv1.SubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"},
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: a.User.GetName(), Groups: a.User.GetGroups(), Extra: extra,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: a.Verb, Group: a.APIGroup, Version: a.APIVersion, Resource: a.Resource, Subresource: a.Subresource,
				Namespace: a.Namespace, Name: a.Name,
			},
		},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}
