// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestScopesDenyRequestsForOtherNodes(t *testing.T) {
	pods, podStatus := Resource{Resource: "pods"}, Resource{Resource: "pods", Subresource: "status"}
	leases := Resource{Group: "coordination.k8s.io", Resource: "leases"}
	csi := Resource{Group: "storage.k8s.io", Resource: "csinodes"}
	for _, tc := range []struct {
		value     string
		held, not []Resource
	}{
		{"", nil, []Resource{pods, podStatus, leases, {}}},
		{" \n\t ", nil, []Resource{pods}},
		{"pods", []Resource{pods, podStatus, {Resource: "pods", Subresource: "exec"}, {Resource: "pods", Subresource: "new"},
			{Resource: "bindings"}},
			[]Resource{{Group: "x.io", Resource: "pods"}, {Resource: "Pods"}, {Resource: "pod"}, leases}},
		{"pods/-", []Resource{pods},
			[]Resource{podStatus, {Resource: "bindings"}, {Resource: "pods", Subresource: "binding"}, leases}},
		{"pods/-,pods/status", []Resource{pods, podStatus}, []Resource{{Resource: "pods", Subresource: "exec"}}},
		{"pods/-,pods", []Resource{pods, podStatus}, []Resource{leases}},
		{"serviceaccounts", []Resource{{Resource: "serviceaccounts"}, {Resource: "serviceaccounts", Subresource: "token"}},
			[]Resource{pods}},
		{"leases.coordination.k8s.io/-", []Resource{leases},
			[]Resource{{Group: "coordination.k8s.io", Resource: "leases", Subresource: "status"}}},
		{"bindings", []Resource{{Resource: "bindings"}, {Resource: "pods", Subresource: "binding"}},
			[]Resource{pods, podStatus}},
		{"events/-", []Resource{{Resource: "events"}, {Group: "events.k8s.io", Resource: "events"}},
			[]Resource{pods, {Resource: "events", Subresource: "x"}}},
		{"a.b.example.com,c." + strings.Repeat("d", 251),
			[]Resource{{Group: "b.example.com", Resource: "a"}, {Group: strings.Repeat("d", 251), Resource: "c"}},
			[]Resource{pods}},
		{"pods/status", []Resource{podStatus}, []Resource{pods, {Resource: "pods", Subresource: "exec"}}},
		{"pods , \n pods/status", []Resource{pods, podStatus}, []Resource{leases}},
		{"pods,pods,pods", []Resource{pods, podStatus}, []Resource{leases}},
		{"leases.coordination.k8s.io",
			[]Resource{leases, {Group: "coordination.k8s.io", Resource: "leases", Subresource: "status"}},
			[]Resource{{Resource: "leases"}, {Resource: "leases.coordination.k8s.io"}}},
		{"leases.coordination.k8s.io/status",
			[]Resource{{Group: "coordination.k8s.io", Resource: "leases", Subresource: "status"}}, []Resource{leases}},
		{"*.storage.k8s.io", []Resource{csi, {Group: "storage.k8s.io", Resource: "csinodes", Subresource: "status"}},
			[]Resource{{Group: "snapshot.storage.k8s.io", Resource: "volumesnapshots"}, pods}},
		{"*", []Resource{pods, podStatus, leases, csi, {}, {Group: "discovery.k8s.io", Resource: "endpointslices"}}, nil},
		{"*,pods", []Resource{pods, leases}, nil},
		{"events", []Resource{{Resource: "events"}, {Group: "events.k8s.io", Resource: "events"}},
			[]Resource{{Group: "example.com", Resource: "events"}}},
		{"events.events.k8s.io", []Resource{{Resource: "events"}, {Group: "events.k8s.io", Resource: "events"}},
			[]Resource{pods}},
		{"*.events.k8s.io", []Resource{{Resource: "events"}, {Group: "events.k8s.io", Resource: "events"}}, []Resource{pods}},
		{"pods/binding", []Resource{{Resource: "pods", Subresource: "binding"}, {Resource: "bindings"}}, []Resource{pods}},
		// A wildcard is not a resource, but could mean a part of the scope.
		{"secrets", []Resource{{Resource: "*"}, {Group: "*", Resource: "pods"}, {Resource: "pods", Subresource: "*"}},
			[]Resource{pods}},
	} {
		t.Run("a pod held on "+tc.value, func(t *testing.T) {
			s := mustScope(t, tc.value)
			for _, r := range tc.held {
				if !s.Covers(r) {
					t.Errorf("%q is not held", r)
				}
			}
			for _, r := range tc.not {
				if s.Covers(r) {
					t.Errorf("%q is held", r)
				}
			}
		})
	}
}

func TestSelfReviewsAreInNoScope(t *testing.T) {
	for _, r := range []Resource{
		{Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"},
		{Group: "authorization.k8s.io", Resource: "selfsubjectrulesreviews"},
		{Group: "authentication.k8s.io", Resource: "selfsubjectreviews"},
	} {
		for _, value := range []string{"*", "*.authorization.k8s.io,*.authentication.k8s.io"} {
			if mustScope(t, value).Covers(r) {
				t.Errorf("%s holds %s", value, r)
			}
		}
		if s, err := ParseScope(r.String()); err == nil || !s.IsEverything() {
			t.Errorf("%s may be named: %v", r, err)
		}
		// The same name in another group, and the other reviews, can be in a scope.
		r.Group = "example.com"
		if !Everything().Covers(r) {
			t.Errorf("%s is not held", r)
		}
	}
	if !mustScope(t, "*").Covers(Resource{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"}) {
		t.Error("reviews of others are not held")
	}
}

func TestInvalidScopeCoversAllResources(t *testing.T) {
	const form = "want a resource as RBAC names it: pods, pods/- (without subresources), nodes/status, " +
		"leases.coordination.k8s.io, *.storage.k8s.io or *"
	const wildcard = "a wildcard stands for all resources (*) or for all of a group (*.storage.k8s.io) and nowhere else"
	for value, want := range map[string]string{
		",":                                     `"": an entry is empty`,
		"pods,":                                 `"": an entry is empty`,
		"pods,,nodes":                           `"": an entry is empty`,
		"Pods":                                  `"Pods": ` + form,
		"pods nodes":                            `"pods nodes": ` + form,
		"pods;nodes":                            `"pods;nodes": ` + form,
		"роds":                                  `"роds": ` + form,
		"pods\u200b":                            `"pods\u200b": ` + form,
		"pods\u00a0":                            `"pods\u00a0": ` + form,
		"pods\x00":                              `"pods\x00": ` + form,
		"pods\xff":                              `"pods\xff": ` + form,
		"-pods":                                 `"-pods": ` + form,
		"pods-":                                 `"pods-": ` + form,
		"pods.":                                 `"pods.": ` + form,
		".apps":                                 `".apps": ` + form,
		"/status":                               `"/status": ` + form,
		"pods/":                                 `"pods/": ` + form,
		"pods/a/b":                              `"pods/a/b": ` + form,
		"pods/status.x.io":                      `"pods/status.x.io": ` + form,
		"leases..k8s.io":                        `"leases..k8s.io": ` + form,
		"!pods":                                 `"!pods": ` + form,
		`["pods"]`:                              `"[\"pods\"]": ` + form,
		"*.":                                    `"*.": ` + wildcard,
		"**":                                    `"**": ` + wildcard,
		"*.*":                                   `"*.*": ` + wildcard,
		"pods/status/-":                         `"pods/status/-": ` + form,
		"/-":                                    `"/-": ` + form,
		"pods/-/-":                              `"pods/-/-": ` + form,
		"*/-":                                   `"*/-": ` + wildcard,
		"*.storage.k8s.io/-":                    `"*.storage.k8s.io/-": ` + wildcard,
		"*/status":                              `"*/status": ` + wildcard,
		"pods/*":                                `"pods/*": ` + wildcard,
		"pod*":                                  `"pod*": ` + wildcard,
		"leases.*":                              `"leases.*": ` + wildcard,
		"*.*.k8s.io":                            `"*.*.k8s.io": ` + wildcard,
		"*.storage.k8s.io/status":               `"*.storage.k8s.io/status": ` + wildcard,
		strings.Repeat("a", 64):                 `"` + strings.Repeat("a", 64) + `": ` + form,
		strings.Repeat("p", 100):                `"` + strings.Repeat("p", 80) + `…": ` + form,
		"a." + strings.Repeat("b.", 126) + "cc": `"a.` + strings.Repeat("b.", 39) + `…": ` + form,
		strings.Repeat("a", MaxValueLength) + "b": fmt.Sprintf("longer than %d bytes", MaxValueLength),
	} {
		t.Run(shortened(value), func(t *testing.T) {
			s, err := ParseScope(value)
			if want = ScopeAnnotation + ": " + want; err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
			if !s.IsEverything() {
				t.Error("the scope is not everything")
			}
		})
	}
}

// The longest value that is parsed, one byte more, and the longest value that an API server
// accepts.
func TestLongValues(t *testing.T) {
	long := strings.Repeat("pods,", MaxValueLength/5) + "a"
	long += strings.Repeat("a", MaxValueLength-len(long))
	if s, err := ParseScope(long); err != nil || s.IsEverything() || len(s.named) != 3 {
		t.Errorf("%d bytes: %v", len(long), err)
	}
	for _, value := range []string{long + "a", strings.Repeat("a", 256<<10), strings.Repeat(",", 256<<10),
		strings.Repeat(" ", 256<<10)} {
		if s, err := ParseScope(value); err == nil || !s.IsEverything() || len(err.Error()) > 200 {
			t.Errorf("%d bytes: %v", len(value), err)
		}
	}
}

func TestEndpointSlicesAreRejectedInAScope(t *testing.T) {
	s, err := ParseScope("services,endpointslices.discovery.k8s.io")
	if err == nil || !strings.Contains(err.Error(), "names a node for each endpoint") || !s.IsEverything() {
		t.Errorf("got %v, %v", s, err)
	}
	if s, err := ParseScope("services,endpoints"); err != nil || s.IsEverything() {
		t.Errorf("got %v, %v", s, err)
	}
}

func TestNilScopes(t *testing.T) {
	var none *Scope
	if none.Covers(Resource{Resource: "pods"}) || !none.IsEmpty() || none.IsEverything() {
		t.Error("no scope is one")
	}
	if (&Scope{}).Covers(Resource{Resource: "*"}) || Everything().IsEmpty() {
		t.Error("empty is everything")
	}
}

func TestResourcesReadAsTheyAreWritten(t *testing.T) {
	for _, text := range []string{"pods", "nodes/status", "leases.coordination.k8s.io", "a.b/c"} {
		r, err := parseResource(text)
		if err != nil || r.String() != text {
			t.Errorf("%s: got %v, %v", text, r, err)
		}
	}
}

func TestManyResources(t *testing.T) {
	var names []string
	for i := range maxEntries + 1 {
		names = append(names, fmt.Sprintf("r%d", i))
	}
	most := strings.Join(names[:maxEntries], ",")
	for _, value := range []string{most, most + "," + names[0]} {
		if s, err := ParseScope(value); err != nil || s.IsEverything() || len(s.named) != maxEntries {
			t.Errorf("%d resources: %v", maxEntries, err)
		}
	}
	if s, err := ParseScope(strings.Join(names, ",")); err == nil || !strings.Contains(err.Error(), errTooMany.Error()) ||
		!s.IsEverything() {
		t.Errorf("%d resources: %v", len(names), err)
	}
}

func TestUnion(t *testing.T) {
	pods, secrets, csi := Resource{Resource: "pods"}, Resource{Resource: "secrets"},
		Resource{Group: "storage.k8s.io", Resource: "csinodes"}
	for _, tc := range []struct {
		name string
		of   []*Scope
		held []Resource
	}{
		{"nothing", nil, nil},
		{"nobody", []*Scope{nil, {}}, nil},
		{"one", []*Scope{nil, mustScope(t, "pods")}, []Resource{pods}},
		{"two", []*Scope{mustScope(t, "pods"), mustScope(t, "*.storage.k8s.io")}, []Resource{pods, csi}},
		{"everything", []*Scope{mustScope(t, "pods"), Everything()}, []Resource{pods, csi, secrets}},
	} {
		union := Union(tc.of...)
		for _, r := range []Resource{pods, secrets, csi} {
			if union.Covers(r) != slices.Contains(tc.held, r) {
				t.Errorf("%s: %s is held: %v", tc.name, r, union.Covers(r))
			}
		}
		if (union == nil) != (len(tc.held) == 0) {
			t.Errorf("%s: got %v", tc.name, union)
		}
	}
}
