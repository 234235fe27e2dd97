// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// callerOf returns a client that calls h as kube-apiserver does: with client-go, at the URL of a
// kubeconfig. kube-apiserver's own caller, plugin/pkg/authorizer/webhook, needs more modules than
// this project has. The client does not retry, so that the test sees a failed call.
func callerOf(t *testing.T, h *Handler, http2 bool) *rest.RESTClient {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.EnableHTTP2 = http2
	server.StartTLS()
	t.Cleanup(server.Close)
	client, err := rest.UnversionedRESTClientFor(&rest.Config{
		Host: server.URL + "/authorize", TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: -1,
		ContentConfig: rest.ContentConfig{GroupVersion: &authorizationv1.SchemeGroupVersion,
			NegotiatedSerializer: scheme.Codecs.WithoutConversion()},
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// panicking decides as asX does, but panics for an object with a certain name.
func panicking(ctx context.Context, a authorizer.Attributes) rules.Decision {
	if a.GetName() == "panic" {
		panic("oh")
	}
	return asX(ctx, a)
}

// A request must always get an answer, whatever it contains. After a failed call, another
// authorizer decides.
func TestKubeAPIServerReadsTheAnswer(t *testing.T) {
	node := func(r authorizationv1.ResourceAttributes) authorizationv1.SubjectAccessReviewSpec {
		return authorizationv1.SubjectAccessReviewSpec{User: "system:node:x", Groups: []string{"system:nodes"},
			ResourceAttributes: &r}
	}
	selecting := func(n int) authorizationv1.SubjectAccessReviewSpec {
		one := metav1.FieldSelectorRequirement{Key: "spec.nodeName", Operator: "In", Values: []string{"x"}}
		return node(authorizationv1.ResourceAttributes{FieldSelector: &authorizationv1.FieldSelectorAttributes{
			Requirements: slices.Repeat([]metav1.FieldSelectorRequirement{one}, n),
		}})
	}
	admin := node(authorizationv1.ResourceAttributes{})
	admin.User = "admin"
	path := admin
	path.User, path.ResourceAttributes, path.NonResourceAttributes = "system:node:x", nil,
		&authorizationv1.NonResourceAttributes{Path: "/x"}
	allowed := authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: "[NA-TEST-1]"}
	large := authorizationv1.SubjectAccessReviewStatus{Denied: true,
		Reason: "a review of more than 65536 bytes [NA-LIMIT]"}
	for _, tt := range []struct {
		name string
		spec authorizationv1.SubjectAccessReviewSpec
		want authorizationv1.SubjectAccessReviewStatus
	}{
		{"an allow is an allow", node(authorizationv1.ResourceAttributes{}), allowed},
		{"a path is read", path, allowed},
		{"no opinion keeps its reason", admin, authorizationv1.SubjectAccessReviewStatus{Reason: "not x [NA-TEST-1]"}},
		{"a panic is a deny", node(authorizationv1.ResourceAttributes{Name: "panic"}),
			authorizationv1.SubjectAccessReviewStatus{
				Denied: true, Reason: "internal error", EvaluationError: "the authorizer panicked",
			}},
		{"1,000 requirements are read", selecting(1000), allowed},
		{"1,001 are a deny", selecting(1001),
			authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: "more than 1000 selector requirements [NA-LIMIT]"}},
		{"10,000 are a deny", selecting(10_000), large},
		{"20 MB are a deny", node(authorizationv1.ResourceAttributes{Name: strings.Repeat("n", 20<<20)}), large},
		{"an odd name is read", node(authorizationv1.ResourceAttributes{Name: "\x00\n\xff\u202e\"", Namespace: "节"}),
			allowed},
	} {
		for _, http2 := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s with HTTP/2 %v", tt.name, http2), func(t *testing.T) {
				var got authorizationv1.SubjectAccessReview
				err := callerOf(t, New(testConfig(panicking)),
					http2).Post().Body(&authorizationv1.SubjectAccessReview{Spec: tt.spec}).Do(t.Context()).Into(&got)
				if err != nil {
					t.Fatalf("failed call: %v", err)
				}
				if diff := cmp.Diff(tt.want, got.Status); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		}
	}
}
