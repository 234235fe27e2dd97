// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
)

// What admission is told is what the authorizer decides by, for every request of the tables.
func TestIdentifyAgreesWithTheAuthorizer(t *testing.T) {
	for _, tc := range allRows() {
		c := clusterOf(Account{Scope: mustScope(t, tc.scopeOf())})
		a := tc.complete()
		who, want := Identify(a.User, c), identify(a.User, c)
		r, why, against := who.Against()
		if who.Node() != want.node || who.Covers(asked(a)) != want.held.covers(asked(a)) || against != (want.against != "") ||
			why != want.why {
			t.Errorf("%s: got %+v, want %+v", tc.name, who, want)
		}
		if against && r != want.against {
			t.Errorf("%s: against it is %s, want %s", tc.name, r, want.against)
		}
		if against && who.Node() != "" {
			t.Errorf("%s: it is on %q although %s is against that", tc.name, who.Node(), r)
		}
	}
}

func TestIdentifyNobody(t *testing.T) {
	c := clusterOf(Account{Scope: Everything(), Exemptions: &Exemptions{lifted: lifts[Taints]}, Audits: true})
	for name, u := range map[string]user.Info{"nobody": nil, "a user": &user.DefaultInfo{Name: "x"},
		"an account without a scope": tokenOf("free", claimsOf("free-me", "uid-free", "me"))} {
		if who := Identify(u, c); who.IsBound() || who.Covers(Resource{Resource: "pods"}) || who.Audits() ||
			who.Lifts("NR-NODE-4") {
			t.Errorf("%s: %+v", name, who)
		}
	}
	if who := Identify(agent(), c); !who.IsBound() || !who.Covers(Resource{Resource: "pods"}) || !who.Audits() ||
		!who.Lifts("NR-NODE-4") || who.Node() != "me" {
		t.Errorf("the twin: %+v", who)
	}
}

func TestNodeIn(t *testing.T) {
	object := map[string]any{
		"metadata": map[string]any{"name": "me", "labels": map[string]any{"example.com/node": "me"}},
		"spec":     map[string]any{"node": "me", "list": []any{"me"}, "deep": map[string]any{"node": "me"}},
	}
	for _, tc := range []struct {
		at   Declaration
		want string
	}{
		{Declaration{Field: "metadata.name"}, "me"},
		{Declaration{Field: "spec.node"}, "me"},
		{Declaration{Field: "spec.deep.node"}, "me"},
		{Declaration{Label: "example.com/node"}, "me"},
		{Declaration{Label: "example.com/other"}, ""},
		{Declaration{Field: "spec.none"}, ""},
		{Declaration{Field: "spec.list"}, ""},
		{Declaration{Field: "spec.deep"}, ""},
		{Declaration{Field: "spec.node.deeper"}, ""},
		{Declaration{Field: "status.node"}, ""},
	} {
		if got := tc.at.NodeIn(object); got != tc.want {
			t.Errorf("%+v: got %q", tc.at, got)
		}
		if got := tc.at.NodeIn(nil); got != "" {
			t.Errorf("%+v of nothing: got %q", tc.at, got)
		}
	}
}
