// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	pods   = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	leases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
)

func TestRequestAsHTTP(t *testing.T) {
	for _, tc := range []struct {
		name    string
		request Request
		want    string
	}{
		{"a get names its object", Get(pods).In("ns").Named("a"), "GET /api/v1/namespaces/ns/pods/a?"},
		{"a group has its own root", Get(leases).In("ns").Named("a"),
			"GET /apis/coordination.k8s.io/v1/namespaces/ns/leases/a?"},
		{"a list selects", List(pods).Where("spec.nodeName=n"), "GET /api/v1/pods?fieldSelector=spec.nodeName%3Dn"},
		{"a list selects by a label", List(pods).Labelled("node=n"), "GET /api/v1/pods?labelSelector=node%3Dn"},
		{"a watch ends soon", Watch(pods), "GET /api/v1/pods?timeoutSeconds=1&watch=true"},
		{"a watch on the old watch path has that path", Watch(pods).In("ns").Named("a").OnWatchPath(),
			"GET /api/v1/watch/namespaces/ns/pods/a?timeoutSeconds=1"},
		{"a create leaves the name to the body", Create(pods).In("ns").Named("a"),
			"POST /api/v1/namespaces/ns/pods?dryRun=All"},
		{"a create of a subresource does not", Create(pods).In("ns").Named("a").Sub("eviction"),
			"POST /api/v1/namespaces/ns/pods/a/eviction?dryRun=All"},
		{"an update is a dry run", Update(pods).In("ns").Named("a"), "PUT /api/v1/namespaces/ns/pods/a?dryRun=All"},
		{"a patch is a dry run", Patch(pods).In("ns").Named("a").Sub("status"),
			"PATCH /api/v1/namespaces/ns/pods/a/status?dryRun=All"},
		{"a delete of many is a dry run", DeleteAll(pods).In("ns"), "DELETE /api/v1/namespaces/ns/pods?dryRun=All"},
		{"a path is as it is", GetPath("/version"), "GET /version"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.request.method() + " " + tc.request.url(); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestRequestAsAttributes(t *testing.T) {
	selector := func(key string, operator metav1.FieldSelectorOperator,
		value string) *authorizationv1.FieldSelectorAttributes {
		return &authorizationv1.FieldSelectorAttributes{Requirements: []metav1.FieldSelectorRequirement{
			{Key: key, Operator: operator, Values: []string{value}},
		}}
	}
	for _, tc := range []struct {
		name    string
		request Request
		want    authorizationv1.ResourceAttributes
	}{
		{
			"a selector is a requirement", List(pods).Where("spec.nodeName=n"),
			authorizationv1.ResourceAttributes{Verb: "list",
				FieldSelector: selector("spec.nodeName", metav1.FieldSelectorOpIn, "n")},
		},
		{
			"a negative selector is another", List(pods).Where("spec.nodeName!=n"),
			authorizationv1.ResourceAttributes{Verb: "list",
				FieldSelector: selector("spec.nodeName", metav1.FieldSelectorOpNotIn, "n")},
		},
		{
			"a selector of a name is a name", List(pods).In("ns").Where("metadata.name=a"),
			authorizationv1.ResourceAttributes{
				Verb: "list", Namespace: "ns", Name: "a", FieldSelector: selector("metadata.name", metav1.FieldSelectorOpIn, "a"),
			},
		},
		{
			"the old watch path has no selector", Watch(pods).Where("spec.nodeName=n").OnWatchPath(),
			authorizationv1.ResourceAttributes{Verb: "watch"},
		},
		{
			"the name of a new object is not known", Create(pods).In("ns").Named("a"),
			authorizationv1.ResourceAttributes{Verb: "create", Namespace: "ns"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.want.Version, tc.want.Resource = "v1", "pods"
			got, err := tc.request.attributes()
			if diff := cmp.Diff(&tc.want, got); err != nil || diff != "" {
				t.Errorf("error %v, attributes (-want +got):\n%s", err, diff)
			}
		})
	}
}
