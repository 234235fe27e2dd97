// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

func TestAttributes(t *testing.T) {
	who := &user.DefaultInfo{Name: "u", UID: "1", Groups: []string{"g"}, Extra: map[string][]string{"k": {"v"}}}
	spec := func() *authorizationv1.SubjectAccessReviewSpec {
		return &authorizationv1.SubjectAccessReviewSpec{
			User: "u", UID: "1", Groups: []string{"g"}, Extra: map[string]authorizationv1.ExtraValue{"k": {"v"}},
		}
	}
	resource := spec()
	resource.ResourceAttributes = &authorizationv1.ResourceAttributes{
		Namespace: "ns", Verb: "get", Group: "apps", Version: "v1", Resource: "r", Subresource: "s", Name: "n",
	}
	noVersion := spec()
	noVersion.ResourceAttributes = &authorizationv1.ResourceAttributes{Verb: "get"}
	path := spec()
	path.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Verb: "get", Path: "/p"}
	for _, tt := range []struct {
		name string
		spec *authorizationv1.SubjectAccessReviewSpec
		want *authorizer.AttributesRecord
	}{
		{"a resource request keeps every field", resource, &authorizer.AttributesRecord{
			User: who, Verb: "get", Namespace: "ns", APIGroup: "apps", APIVersion: "v1", Resource: "r", Subresource: "s",
			Name: "n", ResourceRequest: true,
		}},
		{"no version is any version", noVersion,
			&authorizer.AttributesRecord{User: who, Verb: "get", APIVersion: "*", ResourceRequest: true}},
		{"a non-resource request has a path", path, &authorizer.AttributesRecord{User: who, Verb: "get", Path: "/p"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, attributesFrom(tt.spec)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestFieldSelectors(t *testing.T) {
	type selector struct {
		Requirements fields.Requirements
		Failed       bool
	}
	require := func(operator metav1.FieldSelectorOperator, values ...string) metav1.FieldSelectorRequirement {
		return metav1.FieldSelectorRequirement{Key: "spec.nodeName", Operator: operator, Values: values}
	}
	equals := fields.Requirement{Field: "spec.nodeName", Operator: selection.Equals, Value: "x"}
	for _, tt := range []struct {
		name string
		in   *authorizationv1.FieldSelectorAttributes
		want selector
	}{
		{"no selector selects nothing", nil, selector{}},
		{"In with one value is Equals",
			&authorizationv1.FieldSelectorAttributes{Requirements: []metav1.FieldSelectorRequirement{require("In", "x")}},
			selector{Requirements: fields.Requirements{equals}}},
		{"NotIn with one value is NotEquals",
			&authorizationv1.FieldSelectorAttributes{Requirements: []metav1.FieldSelectorRequirement{require("NotIn", "x")}},
			selector{Requirements: fields.Requirements{{Field: "spec.nodeName", Operator: selection.NotEquals, Value: "x"}}}},
		{"In with two values never matches",
			&authorizationv1.FieldSelectorAttributes{Requirements: []metav1.FieldSelectorRequirement{require("In", "x", "y")}},
			selector{Failed: true}},
		{"In with one value twice never matches",
			&authorizationv1.FieldSelectorAttributes{Requirements: []metav1.FieldSelectorRequirement{require("In", "x", "x")}},
			selector{Failed: true}},
		{"In without a value never matches",
			&authorizationv1.FieldSelectorAttributes{Requirements: []metav1.FieldSelectorRequirement{require("In")}},
			selector{Failed: true}},
		{"Exists is not understood",
			&authorizationv1.FieldSelectorAttributes{Requirements: []metav1.FieldSelectorRequirement{require("Exists")}},
			selector{Failed: true}},
		{"Exists with a value is not understood",
			&authorizationv1.FieldSelectorAttributes{Requirements: []metav1.FieldSelectorRequirement{require("Exists", "x")}},
			selector{Failed: true}},
		{"= is no operator of a review",
			&authorizationv1.FieldSelectorAttributes{Requirements: []metav1.FieldSelectorRequirement{require("=", "x")}},
			selector{Failed: true}},
		{"what is understood stays beside what is not",
			&authorizationv1.FieldSelectorAttributes{Requirements: []metav1.FieldSelectorRequirement{require("Exists"),
				require("In", "x")}},
			selector{Requirements: fields.Requirements{equals}, Failed: true}},
		{"rawSelector is ignored", &authorizationv1.FieldSelectorAttributes{RawSelector: "spec.nodeName=x"}, selector{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := attributesFrom(&authorizationv1.SubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{FieldSelector: tt.in},
			})
			requirements, err := a.GetFieldSelector()
			if diff := cmp.Diff(tt.want, selector{requirements, err != nil}); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestLabelSelectors(t *testing.T) {
	type selector struct {
		Requirements []string
		Failed       bool
	}
	require := func(key string, operator metav1.LabelSelectorOperator, values ...string) metav1.LabelSelectorRequirement {
		return metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: values}
	}
	for _, tt := range []struct {
		name string
		in   authorizationv1.LabelSelectorAttributes
		want selector
	}{
		{"every operator is understood",
			authorizationv1.LabelSelectorAttributes{Requirements: []metav1.LabelSelectorRequirement{
				require("a", "In", "x", "y"), require("b", "NotIn", "x"), require("c", "Exists"), require("d", "DoesNotExist"),
			}}, selector{Requirements: []string{"a in (x,y)", "b notin (x)", "c", "!d"}}},
		{"an unknown operator is left out",
			authorizationv1.LabelSelectorAttributes{Requirements: []metav1.LabelSelectorRequirement{require("a", "=", "x")}},
			selector{Failed: true}},
		{"a broken key is left out",
			authorizationv1.LabelSelectorAttributes{Requirements: []metav1.LabelSelectorRequirement{require("\n", "Exists")}},
			selector{Failed: true}},
		{"rawSelector is ignored", authorizationv1.LabelSelectorAttributes{RawSelector: "a=x"}, selector{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := attributesFrom(&authorizationv1.SubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{LabelSelector: &tt.in},
			})
			requirements, err := a.GetLabelSelector()
			got := selector{Failed: err != nil}
			for _, r := range requirements {
				got.Requirements = append(got.Requirements, r.String())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
