// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesuggest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

func TestSuggest(t *testing.T) {
	create := func() auditv1.Event {
		return event("/api/v1/namespaces/ns/events", "create",
			auditv1.ObjectReference{Resource: "events", Namespace: "ns", APIVersion: "v1"})
	}
	slices := ofGroup(get("endpointslices", "mine"), "discovery.k8s.io")
	grant := func(group, resource string, verbs ...string) Grant {
		return Grant{PolicyRule: rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}}
	}
	for name, tc := range map[string]struct {
		seen    []auditv1.Event
		granted []Grant
		want    Suggestion
	}{
		"resource used on the own node is in the scope": {
			seen: []auditv1.Event{get("secrets", "mine"), get("secrets", "mine")},
			want: Suggestion{Annotation: "secrets", Resources: []Resource{{Name: "secrets", Seen: 2, InScope: true}}},
		},
		"resource used on another node is not in the scope": {
			seen: []auditv1.Event{get("secrets", "mine"), get("secrets", "theirs"), get("configmaps", "mine")},
			want: Suggestion{Annotation: "configmaps", Resources: []Resource{
				{Name: "configmaps", Seen: 1, InScope: true},
				{Name: "secrets", Seen: 2, OtherNodes: 1,
					Why: "get secrets ns/theirs: a pod on node 'me' is limited to what that node may do: not a node's [NA-TEST-1] " +
						"[NS-SCOPE-1]"},
			}},
		},
		"granted and unused resource is in the scope, with the denied verbs": {
			granted: []Grant{grant("", "secrets", "get", "list"), grant("", "events", "create")},
			want: Suggestion{Annotation: "events,secrets", Resources: []Resource{
				{Name: "events", InScope: true}, {Name: "secrets", InScope: true, Stops: []string{"get", "list"}},
			}},
		},
		"all verbs": {
			granted: []Grant{grant("", "secrets", "*")},
			want: Suggestion{Annotation: "secrets", Resources: []Resource{
				{Name: "secrets", InScope: true,
					Stops: []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}},
			}},
		},
		"wildcard is reported and not expanded": {
			granted: []Grant{grant("*", "*", "get"), grant("apps", "*", "list"), grant("", "*/status", "patch"),
				grant("", "pods/*", "get")},
			want: Suggestion{Resources: []Resource{},
				Wildcards: []string{"*.* (get)", "*.apps (list)", "*/status (patch)", "pods/* (get)"}},
		},
		"questions about oneself and paths are in no scope": {
			seen: []auditv1.Event{
				event("/metrics", "get", auditv1.ObjectReference{}),
				ofGroup(event("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "create",
					auditv1.ObjectReference{Resource: "selfsubjectaccessreviews", APIVersion: "v1"}), "authorization.k8s.io"),
			},
			granted: []Grant{grant("authorization.k8s.io", "selfsubjectaccessreviews", "create")},
			want:    Suggestion{Resources: []Resource{}},
		},
		"resource that cannot be in a scope is left out": {
			granted: []Grant{grant("discovery.k8s.io", "endpointslices", "list")},
			want: Suggestion{Resources: []Resource{{
				Name: "endpointslices.discovery.k8s.io",
				Why:  parseError(t, "endpointslices.discovery.k8s.io"),
			}}},
		},
		"used resource that cannot be in a scope is left out": {
			seen: []auditv1.Event{slices},
			want: Suggestion{Resources: []Resource{{Name: "endpointslices.discovery.k8s.io", Seen: 1,
				Why: parseError(t, "endpointslices.discovery.k8s.io")}}},
		},
		"alias of a resource used on other nodes": {
			seen:    []auditv1.Event{wouldRefuse(create())},
			granted: []Grant{grant("events.k8s.io", "events", "create")},
			want: Suggestion{Resources: []Resource{
				{Name: "events", Seen: 1, OtherNodes: 1, Why: "create events: no [NS-ADMIT-1]"},
				{Name: "events.events.k8s.io", Why: "it is the same as events, which is used beyond the node"},
			}},
		},
		"writes are counted": {
			seen: []auditv1.Event{create(), create()},
			want: Suggestion{Annotation: "events", Resources: []Resource{{Name: "events", Seen: 2, InScope: true}}, Written: 2},
		},
		"a token without a pod": {
			seen: []auditv1.Event{withoutPod(get("secrets", "mine"))},
			want: Suggestion{Resources: []Resource{{Name: "secrets", Seen: 1, OtherNodes: 1,
				Why: "get secrets ns/mine: the token names no pod [NS-IDENT-2]"}}},
		},
		"used subresources are covered by their resource": {
			seen: []auditv1.Event{get("pods", "mine"), of(get("pods", "mine"), "status"), of(get("pods", "mine"), "log")},
			want: Suggestion{Annotation: "pods", Resources: []Resource{
				{Name: "pods", Seen: 1, InScope: true}, {Name: "pods/log", Seen: 1, InScope: true},
				{Name: "pods/status", Seen: 1, InScope: true},
			}},
		},
		"subresource used on other nodes: the others are listed by name": {
			seen: []auditv1.Event{get("pods", "mine"), of(get("pods", "mine"), "status"), of(get("pods", "theirs"), "log")},
			want: Suggestion{Annotation: "pods/-,pods/status", Resources: []Resource{
				{Name: "pods", Seen: 1, InScope: true},
				{Name: "pods/log", Seen: 1, OtherNodes: 1,
					Why: "get pods/log ns/theirs: a pod on node 'me' is limited to what that node may do: not a node's [NA-TEST-1] " +
						"[NS-POD-4]"},
				{Name: "pods/status", Seen: 1, InScope: true},
			}},
		},
		"a token off the node": {
			seen: []auditv1.Event{get("secrets", "mine"), of(ofVerb(get("serviceaccounts", "theirs"), "create"), "token")},
			want: Suggestion{
				Resources: []Resource{
					{Name: "secrets", Seen: 1},
					{Name: "serviceaccounts/token", Seen: 1, OtherNodes: 1,
						Why: "create serviceaccounts/token ns/theirs: a pod on node 'me' is limited to what that node may do: not a " +
							"node's [NA-TEST-1] [NS-TOKEN-1]"},
				},
				Unscoped: []string{"create serviceaccounts/token ns/theirs: " +
					"a pod on node 'me' is limited to what that node may do: not a node's [NA-TEST-1] [NS-TOKEN-1]"},
			},
		},
		"being another user": {
			seen: []auditv1.Event{get("secrets", "mine"), asUser(get("pods", "p"), "alice", ""),
				asUser(get("pods", "p"), "system:node:me", "impersonate:arbitrary-node")},
			want: Suggestion{Resources: []Resource{{Name: "secrets", Seen: 1}},
				Impersonates: []string{"alice", "system:node:me"}},
		},
		"get own Node as in KEP-5284": {
			seen: []auditv1.Event{get("secrets", "mine"),
				asUser(get("pods", "p"), "system:node:me", "impersonate:associated-node")},
			want: Suggestion{Annotation: "secrets", Resources: []Resource{{Name: "secrets", Seen: 1, InScope: true}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuggester()
			s.Grant(tc.granted)
			for _, e := range tc.seen {
				s.See(t.Context(), requestOf(&e))
			}
			got, err := s.Suggest(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmpEmpty); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// cmpEmpty treats an empty list like nil.
var cmpEmpty = cmp.Transformer("empty", func(in []string) string { return strings.Join(in, "\x00") })

func parseError(t *testing.T, value string) string {
	t.Helper()
	_, err := nodescope.ParseScope(value)
	if err == nil {
		t.Fatalf("%s can be held", value)
	}
	return err.Error()
}

// TestSuggestedScopeAllowsAllSeenRequests checks the main property: with the suggested annotation, no request
// that was seen is denied.
func TestSuggestedScopeAllowsAllSeenRequests(t *testing.T) {
	var seen []Request
	s := newSuggester()
	for _, resource := range []string{"secrets", "configmaps", "pods", "nodes", "events", "bindings"} {
		for _, name := range []string{"mine", "theirs"} {
			for _, subresource := range []string{"", "status", "binding"} {
				e := get(resource, name)
				e.ObjectRef.Subresource = subresource
				seen = append(seen, requestOf(&e))
			}
		}
	}
	for i, r := range seen {
		if i%3 != 0 {
			s.See(t.Context(), r)
		}
	}
	got, err := s.Suggest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	scope, err := nodescope.ParseScope(got.Annotation)
	if err != nil || scope.IsEmpty() {
		t.Fatalf("scope %q, error %v", got.Annotation, err)
	}
	for i, r := range seen {
		held := nodescope.Resource{Resource: r.Attributes.Resource, Subresource: r.Attributes.Subresource}
		if i%3 != 0 && scope.Covers(held) && s.refusal(t.Context(), &r.Attributes) != "" {
			t.Errorf("under %q, %s is refused", got.Annotation, describe(r))
		}
	}
}

func TestTooMuchToName(t *testing.T) {
	s := newSuggester()
	for i := range 200 {
		s.See(t.Context(), Request{Attributes: requestOf(
			ptr(get("r"+strings.Repeat("x", i%60)+string(rune('a'+i%26)), "mine"))).Attributes})
	}
	if _, err := s.Suggest(t.Context()); err == nil {
		t.Error("no error")
	}
}

func ptr[T any](v T) *T { return &v }
