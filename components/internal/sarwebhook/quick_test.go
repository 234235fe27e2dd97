// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// usual returns a review as kube-apiserver writes it.
func usual(t testing.TB, spec authorizationv1.SubjectAccessReviewSpec) string {
	t.Helper()
	raw, err := runtime.Encode(scheme.Codecs.LegacyCodec(authorizationv1.SchemeGroupVersion),
		&authorizationv1.SubjectAccessReview{Spec: spec})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func kubelets() []authorizationv1.SubjectAccessReviewSpec {
	who := authorizationv1.SubjectAccessReviewSpec{
		User: "system:node:x", UID: "u", Groups: []string{"system:nodes", "system:authenticated"},
		Extra: map[string]authorizationv1.ExtraValue{"authentication.kubernetes.io/credential-id": {"X509SHA256=01"}},
	}
	get, list, path := who, who, who
	get.ResourceAttributes = &authorizationv1.ResourceAttributes{
		Namespace: "ns", Verb: "create", Group: "g", Version: "v1", Resource: "serviceaccounts", Subresource: "token",
		Name: "a",
	}
	list.ResourceAttributes = &authorizationv1.ResourceAttributes{Verb: "list", Version: "v1", Resource: "pods",
		FieldSelector: &authorizationv1.FieldSelectorAttributes{
			Requirements: []metav1.FieldSelectorRequirement{{Key: "spec.nodeName", Operator: metav1.FieldSelectorOpIn,
				Values: []string{"x"}}},
		}}
	path.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: "/healthz", Verb: "get"}
	return []authorizationv1.SubjectAccessReviewSpec{get, list, path}
}

// readQuickly decodes the reviews that kube-apiserver sends for kubelets, completely.
func TestUsualReviewsAreReadQuickly(t *testing.T) {
	for _, spec := range kubelets() {
		body := usual(t, spec)
		var spaced bytes.Buffer
		if err := json.Indent(&spaced, []byte(body), "\r", "\t"); err != nil {
			t.Fatal(err)
		}
		for _, body := range []string{body, spaced.String()} {
			got, ok := readQuickly([]byte(body))
			if !ok {
				t.Errorf("not read: %s", body)
			} else if diff := cmp.Diff(&spec, got); diff != "" {
				t.Errorf("%s (-want +got)\n%s", body, diff)
			}
		}
	}
}

// readQuickly leaves every other form to the general decoder.
func TestUnusualReviewsAreNotReadQuickly(t *testing.T) {
	for name, change := range map[string][2]string{
		"an escape":                {`"b"`, `"\u0062"`},
		"other letters than ASCII": {`"b"`, `"é"`},
		"a null":                   {`"b"`, `null`},
		"a number":                 {`"b"`, `1`},
		"an unknown field":         {`"verb"`, `"new":"x","verb"`},
		"a field twice":            {`"verb"`, `"verb":"get","verb"`},
		"another case":             {`"verb"`, `"Verb"`},
		"an empty list":            {`["system:nodes"]`, `[]`},
		"a label selector":         {`"verb"`, `"labelSelector":{},"verb"`},
		"another version":          {`k8s.io/v1`, `k8s.io/v2`},
		"deep nesting":             {`"spec"`, `"metadata":{"a":{"a":{"a":{"a":{}}}}},"spec"`},
		"no attributes":            {`,` + getPod, ``},
		"more behind":              {`}}}`, `}}}{}`},
		"an end that is missing":   {`}}}`, `}}`},
		"a comma too many":         {`"b"}`, `"b",}`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, ok := readQuickly([]byte(good)); !ok {
				t.Fatal("the review before the change is not read")
			}
			body := strings.Replace(good, change[0], change[1], 1)
			if body == good {
				t.Fatal("nothing was changed")
			}
			if spec, ok := readQuickly([]byte(body)); ok {
				t.Errorf("%s was read as %+v", body, spec)
			}
		})
	}
}

// FuzzReadQuickly checks that readQuickly and the general decoder return the same result.
func FuzzReadQuickly(f *testing.F) {
	addSeeds(f)
	for _, spec := range kubelets() {
		f.Add([]byte(usual(f, spec)))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, ok := readQuickly(body)
		if !ok {
			return
		}
		want, err := decodeAny(body)
		if err != nil {
			t.Fatalf("read quickly what is refused: %v", err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}
