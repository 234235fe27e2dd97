// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// probes are the resources that the tests look for in scopes.
var probes = []Resource{
	{}, {Resource: "pods"}, {Resource: "pods", Subresource: "status"}, {Resource: "pods", Subresource: "new"},
	{Resource: "pods", Subresource: "binding"}, {Resource: "bindings"}, {Resource: "nodes"}, {Resource: "events"},
	{Group: "events.k8s.io", Resource: "events"}, {Group: "storage.k8s.io", Resource: "csinodes"},
	{Group: "coordination.k8s.io", Resource: "leases"},
	{Group: "discovery.k8s.io", Resource: "endpointslices"},
	{Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"}, {Resource: "*"},
}

func FuzzParseScope(f *testing.F) {
	for _, entry := range entries {
		f.Add(entry)
	}
	for _, value := range []string{usualScope, " , ", "роds", "pods\u200b", "*.*", "pods/a/b", "pods/-", "pods/-,pods",
		"pods/-/-", "*/-", "-/-", "nodes/-, nodes/status", strings.Repeat("pods,", 3000), strings.Repeat("a", 256<<10)} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		s, err := ParseScope(value)
		if s == nil || err != nil && (!s.IsEverything() || len(err.Error()) > 1000) {
			t.Fatalf("got %v, %v", s, err)
		}
		again, errAgain := ParseScope(value)
		if (err == nil) != (errAgain == nil) {
			t.Fatal("two readers differ")
		}
		more, _ := ParseScope(value + ",pods")
		if err == nil && strings.Trim(value, blanks) != "" && len(value) < MaxValueLength-5 &&
			!more.Covers(Resource{Resource: "pods"}) {
			t.Error("what was added is not held")
		}
		for _, r := range probes {
			switch covered := s.Covers(r); {
			case covered != again.Covers(r):
				t.Errorf("two readers differ on %v", r)
			case covered && isSelfReview(r):
				t.Errorf("holds %v", r)
			case covered && !more.Covers(r):
				t.Errorf("holds %v only without one more resource", r)
			case !covered && r.Subresource != "" && s.Covers(Resource{Group: r.Group, Resource: r.Resource}) &&
				!strings.Contains(value, "/-"):
				t.Errorf("does not hold %v, but the resource", r)
			case covered && s.IsEmpty():
				t.Errorf("is empty and holds %v", r)
			}
		}
	})
}

func FuzzParseExemptions(f *testing.F) {
	for _, value := range []string{"", "taints", "taints,taints", "taints,x", "*", strings.Repeat("taints,", 40000)} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		e, err := ParseExemptions(value)
		if e == nil || err != nil && len(e.exempted) > 0 || len(e.exempted) > len(lifts) {
			t.Errorf("got %v, %v", e, err)
		}
		if e != nil && e.Lifts("NR-NODE-4") && !strings.Contains(value, "taints") {
			t.Error("lifts what it does not name")
		}
	})
}

func FuzzParseDeclarations(f *testing.F) {
	for _, value := range []string{"", usualCustom, "a.b.c=label:x/y", "pods=field:x", "a.b.c=field:", "=",
		"a.b.c=label:,", strings.Repeat("a.b.c=label:x,", 1000)} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		d, err := ParseDeclarations(value)
		if err != nil && len(d.byResource) > 0 {
			t.Errorf("%v, but %v", err, d)
		}
		for r, at := range d.byResource {
			if r != at.Resource || isBuiltIn(r.Group) || r.Subresource != "" || (at.Field == "") == (at.Label == "") {
				t.Errorf("declares %v at %v", r, at)
			}
		}
	})
}

// FuzzAuthorize checks properties that every decision must have.
func FuzzAuthorize(f *testing.F) {
	known := map[rules.ID]bool{}
	for _, r := range Rules {
		known[r.ID] = true
	}
	for _, tc := range allRows() {
		a := tc.complete()
		first := func(key string) string {
			if values := a.User.GetExtra()[key]; len(values) > 0 {
				return values[0]
			}
			return ""
		}
		var field, value string
		if len(a.FieldSelectorRequirements) > 0 {
			field, value = a.FieldSelectorRequirements[0].Field, a.FieldSelectorRequirements[0].Value
		}
		f.Add(a.User.GetName(), first(podName), first(podUID), first(nodeName), a.Verb, a.APIGroup, a.Resource, a.Subresource,
			a.Namespace, a.Name, a.Path, field, value)
	}
	empty, usual, all := held(f, "", ""), held(f, usualScope, ""), held(f, "*", "")
	f.Fuzz(func(t *testing.T, name, pod, uid, node, verb, group, resource, subresource, namespace, object, path, field,
		value string) {
		a := &request{
			User: &user.DefaultInfo{Name: name, Extra: map[string][]string{podName: {pod}, podUID: {uid}, nodeName: {node}}},
			Verb: verb, APIGroup: group, Resource: resource, Subresource: subresource, Namespace: namespace, Name: object,
			Path:                      path,
			ResourceRequest:           path == "",
			FieldSelectorRequirements: fields.Requirements{{Field: field, Operator: selection.Equals, Value: value}},
		}
		wasDenied := false
		for _, z := range []*Authorizer{empty, usual, all} {
			decision, reason, err := z.Authorize(t.Context(), a)
			id, hasID := rules.FromReason(reason)
			isAccount := strings.HasPrefix(name, "system:serviceaccount:")
			isDenied := decision == authorizer.DecisionDeny
			switch {
			case err != nil || decision == authorizer.DecisionAllow:
				t.Errorf("%v %v", decision, err)
			case !isAccount && (isDenied || reason != ""):
				t.Errorf("not an account, but %v %q", decision, reason)
			case isAccount && (!hasID || !known[id]):
				t.Errorf("reason %q names no rule", reason)
			case wasDenied && !isDenied:
				t.Errorf("a larger scope lets pass by %s", id)
			}
			wasDenied = isDenied
		}
	})
}
