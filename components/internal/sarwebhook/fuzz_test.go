// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"sigs.k8s.io/json"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func addSeeds(f *testing.F) {
	for _, body := range []string{
		good,
		``, `{}`, `null`, `[]`, head, good + good,
		head + `{` + asNode + `}}`,
		head + `{` + asNode + `,"nonResourceAttributes":{"verb":"get","path":"/"}}}`,
		head + `{` + asNode + `,` + getPod + `,"nonResourceAttributes":{}}}`,
		head + `{"user":"system:node:x","user":"y",` + getPod + `}}`,
		head + `{"User":"system:node:x","user":"system:node:x\u0000",` + getPod + `}}`,
		head + `{"user":"system:node:x","resourceAttributes":{"fieldSelector":{"rawSelector":"a=b",` +
			`"requirements":[{"key":"a","operator":"In","values":["b","c"]}]}}}}`,
		head + `{"user":"system:node:x","resourceAttributes":{"labelSelector":{` +
			`"requirements":[{"key":"a","operator":"Exists"}]}}}}`,
		strings.Replace(good, `"spec"`, `"new":`+strings.Repeat("[", 50)+`,"spec"`, 1),
	} {
		f.Add([]byte(body))
	}
}

// FuzzDecodeReview checks the guarantees of the decoder for every accepted review.
func FuzzDecodeReview(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		spec, err := decodeReview(body)
		if (spec == nil) != (err != nil) {
			t.Fatalf("spec %v with error %v", spec, err)
		}
		if err != nil {
			return
		}
		if (spec.ResourceAttributes == nil) == (spec.NonResourceAttributes == nil) {
			t.Errorf("both or neither kind of attributes: %+v", spec)
		}
		attributesFrom(spec)
	})
}

// FuzzHandler checks that only the authorizer allows a request, and that it sees the attributes
// that the API's own types decode from the body.
func FuzzHandler(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		var seen authorizer.Attributes
		h := New(testConfig(func(ctx context.Context, a authorizer.Attributes) rules.Decision {
			seen = a
			return asX(ctx, a)
		}))
		w := post(h, string(body))
		if w.Code == http.StatusBadRequest {
			return
		}
		got := replyTo(t, h, string(body))
		if got.Code != http.StatusOK || got.Status.Allowed && got.Status.Denied {
			t.Fatalf("answer %+v", got)
		}
		if !got.Status.Allowed {
			return
		}
		if u := seen.GetUser().GetName(); u != "system:node:x" {
			t.Errorf("allowed for %q", u)
		}
		var api struct {
			Spec authorizationv1.SubjectAccessReviewSpec `json:"spec"`
		}
		if err := json.UnmarshalCaseSensitivePreserveInts(body, &api); err != nil {
			t.Fatalf("allowed what the API cannot read: %v", err)
		}
		if diff := cmp.Diff(asked(api.Spec), saw(seen)); diff != "" {
			t.Errorf("the authorizer saw another request (-body +seen)\n%s", diff)
		}
	})
}

// request is the part of a request that a rule may read, without selectors. A separate table covers
// selectors.
type request struct {
	User, UID                                         string
	Groups                                            []string
	Verb, Namespace, Group, Resource, Sub, Name, Path string
	IsResource                                        bool
}

func asked(spec authorizationv1.SubjectAccessReviewSpec) request {
	r := request{User: spec.User, UID: spec.UID, Groups: spec.Groups}
	if n := spec.NonResourceAttributes; n != nil {
		r.Verb, r.Path = n.Verb, n.Path
	}
	if a := spec.ResourceAttributes; a != nil {
		r.Verb, r.Namespace, r.Group, r.Resource, r.Sub, r.Name = a.Verb, a.Namespace, a.Group, a.Resource, a.Subresource,
			a.Name
		r.IsResource = true
	}
	return r
}

func saw(a authorizer.Attributes) request {
	return request{
		User: a.GetUser().GetName(), UID: a.GetUser().GetUID(), Groups: a.GetUser().GetGroups(),
		Verb: a.GetVerb(), Namespace: a.GetNamespace(), Group: a.GetAPIGroup(), Resource: a.GetResource(),
		Sub: a.GetSubresource(), Name: a.GetName(), Path: a.GetPath(), IsResource: a.IsResourceRequest(),
	}
}
