// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestScope(t *testing.T) { run(t, scopeRows()) }

func scopeRows() []row {
	const asNode = "a pod on node 'me' is limited to what that node may do: "
	lease := func(name string) request {
		return request{Verb: "update", APIGroup: "coordination.k8s.io", Resource: "leases", Namespace: "kube-node-lease",
			Name: name}
	}
	secret := func(verb, name string) request {
		return request{Verb: verb, Resource: "secrets", Namespace: "ns", Name: name}
	}
	self := func(group, resource string) request {
		return request{Verb: "create", APIGroup: group, Resource: resource}
	}
	return []row{
		{"a secret of its node may get it", nil, "", secret("get", "my-secret"), true, "[NS-SCOPE-1]"},
		{"a secret of another node is refused", nil, "", secret("get", "their-secret"), false,
			asNode + "no relationship found between node 'me' and this object [NA-SECRET-1] [NS-SCOPE-1]"},
		{"a secret of another node, its scope having none, may get it", nil, "pods", secret("get", "their-secret"), true,
			"[NS-PASS-1]"},
		{"all secrets is refused", nil, "", secret("list", ""), false,
			asNode + "No Object name found [NA-SECRET-2] [NS-SCOPE-1]"},
		{"the writing of a secret of its node is refused", nil, "", secret("update", "my-secret"), false,
			asNode + "can only read resources of this type [NA-SECRET-1] [NS-SCOPE-1]"},
		{"the lease of its node may have it", nil, "", lease("me"), true, "[NS-SCOPE-1]"},
		{"the lease of another node is refused", nil, "", lease("other"), false,
			asNode + "can only access node lease with the same name as the requesting node [NA-LEASE-3] [NS-SCOPE-1]"},
		{"the lease of another node in a review's words is refused", nil, "leases.coordination.k8s.io/status",
			request{Verb: "get", APIGroup: "coordination.k8s.io", Resource: "leases/status", Namespace: "kube-node-lease",
				Name: "other"}, false,
			asNode + "can only access node lease with the same name as the requesting node [NA-LEASE-3] [NS-SCOPE-1]"},
		{"events of the other group, to read them, is refused", nil, "events",
			request{Verb: "list", APIGroup: "events.k8s.io", Resource: "events"}, false,
			asNode + "no rule allows a node to list events.events.k8s.io [NA-UNI-EVENTS] [NS-SCOPE-1]"},
		{"a new event may make it", nil, "", request{Verb: "create", Resource: "events", Namespace: "ns"}, true,
			"[NS-SCOPE-1]"},
		{"deployments, which no node has, is refused", nil, "",
			request{Verb: "list", APIGroup: "apps", Resource: "deployments"}, false,
			asNode + "no rule allows a node to list deployments.apps [NA-DEFAULT] [NS-SCOPE-1]"},
		{"what the node authorizer has no opinion on is refused", nil, "*",
			request{Verb: "get", Resource: "configmaps", Namespace: "kube-system", Name: "kubeadm-config"}, false,
			asNode + "no relationship found between node 'me' and this object [NA-PASS-4] [NS-SCOPE-1]"},
		{"every resource is refused", nil, "secrets", request{Verb: "*", APIGroup: "*", Resource: "*"}, false,
			asNode + "no rule allows a node to * *.* [NA-DEFAULT] [NS-SCOPE-1]"},
		{"every resource, its scope being empty, may have it", nil, " ", request{Verb: "*", APIGroup: "*", Resource: "*"},
			true, "[NS-PASS-1]"},
		{"a path may have it", nil, "*", request{Verb: "get", Path: "/metrics"}, true, "[NS-PASS-2]"},
		{"its own rights may have them", nil, "*", self("authorization.k8s.io", "selfsubjectaccessreviews"), true,
			"[NS-PASS-2]"},
		{"the list of its own rights may have it", nil, "*", self("authorization.k8s.io", "selfsubjectrulesreviews"), true,
			"[NS-PASS-2]"},
		{"its own name may have it", nil, "*", self("authentication.k8s.io", "selfsubjectreviews"), true, "[NS-PASS-2]"},
		{"endpoint slices with everything in its scope is refused", nil, "*",
			request{Verb: "list", APIGroup: "discovery.k8s.io", Resource: "endpointslices"}, false,
			asNode + "no rule allows a node to list endpointslices.discovery.k8s.io [NA-DEFAULT] [NS-SCOPE-1]"},
	}
}

func TestNoOpinionOnOthers(t *testing.T) {
	for name, u := range map[string]user.Info{
		"no user":                   nil,
		"a user without name":       &user.DefaultInfo{},
		"a kubelet":                 &user.DefaultInfo{Name: "system:node:me", Groups: []string{"system:nodes"}},
		"an administrator":          &user.DefaultInfo{Name: "admin", Groups: []string{"system:masters"}},
		"a name in capitals":        &user.DefaultInfo{Name: "System:serviceaccount:ns:agent"},
		"the prefix without colon":  &user.DefaultInfo{Name: "system:serviceaccount"},
		"a group of accounts alone": &user.DefaultInfo{Name: "x", Groups: []string{"system:serviceaccounts"}},
	} {
		z := New(Config{})
		for _, tc := range allRows() {
			a := tc.complete()
			a.User = u
			decision, reason, err := z.Authorize(t.Context(), a)
			if diff := cmp.Diff(answer{authorizer.DecisionNoOpinion, "", nil}, answer{decision, reason, err}); diff != "" {
				t.Errorf("%s asks for %s (-want +got):\n%s", name, tc.name, diff)
			}
		}
	}
	if decision, reason, err := New(Config{}).Authorize(t.Context(), nil); decision != authorizer.DecisionNoOpinion ||
		reason != "" || err != nil {
		t.Errorf("without attributes: %v %q %v", decision, reason, err)
	}
}

// Before the whole cluster has been seen, every request is denied, even for a resource outside
// every scope.
func TestUnready(t *testing.T) {
	for text, why := range map[string]func() string{
		"has not yet seen the whole cluster": func() string { return "has not yet seen the whole cluster" },
		"knows nothing of the cluster":       nil,
	} {
		z := newOver(t, clusterOf(Account{}))
		z = New(Config{Node: z.Node, Info: z.Info, Unready: why})
		want := answer{authorizer.DecisionDeny, "node scope " + text + " [NS-UNREADY]", nil}
		for _, tc := range allRows() {
			decision, reason, err := z.Authorize(t.Context(), tc.complete())
			if diff := cmp.Diff(want, answer{decision, reason, err}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.name, diff)
			}
		}
	}
}

func TestWithoutInfoNoAccountIsKnown(t *testing.T) {
	z := New(Config{Unready: never})
	decision, reason, err := z.Authorize(t.Context(), row{asks: request{Verb: "list", Resource: "pods"}}.complete())
	if diff := cmp.Diff(answer{authorizer.DecisionDeny, "the scope of the account is not known [NS-UNREADY]", nil},
		answer{decision, reason, err}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Only if the node authorizer allows a request, the decision is no opinion.
func TestOnlyAllowLetsPass(t *testing.T) {
	for said, want := range map[rules.Effect]answer{
		rules.Allow: {authorizer.DecisionNoOpinion, "[NS-SCOPE-1]", nil},
		rules.NoOpinion: {authorizer.DecisionDeny, "a pod on node 'me' is limited to what that node may do: so [NS-SCOPE-1]",
			nil},
		rules.Deny: {authorizer.DecisionDeny, "a pod on node 'me' is limited to what that node may do: so [NS-SCOPE-1]",
			nil},
		rules.Effect(7): {authorizer.DecisionDeny, "a pod on node 'me' is limited to what that node may do: so [NS-SCOPE-1]",
			nil},
	} {
		var asked authorizer.Attributes
		z := newOver(t, clusterOf(Account{Scope: Everything()}))
		z.Node = nodeAuthorizerFunc(func(a authorizer.Attributes) rules.Decision {
			asked = a
			return rules.Decision{Effect: said, Message: "so"}
		})
		a := row{asks: request{Verb: "get", Resource: "secrets", Namespace: "ns", Name: "x"}}.complete()
		before := *a
		decision, reason, err := z.Authorize(t.Context(), a)
		if diff := cmp.Diff(want, answer{decision, reason, err}); diff != "" {
			t.Errorf("%v (-want +got):\n%s", said, diff)
		}
		who := &user.DefaultInfo{Name: "system:node:me", Groups: []string{"system:nodes", "system:authenticated"}}
		if diff := cmp.Diff(who, asked.GetUser()); diff != "" || asked.GetName() != "x" || asked.GetVerb() != "get" {
			t.Errorf("asked for %+v (-want +got):\n%s", asked, diff)
		}
		if diff := cmp.Diff(before, *a); diff != "" {
			t.Errorf("the request was changed:\n%s", diff)
		}
	}
}

// Attributes of another type give the same decision as those of the transport.
func TestAttributesOfAnyType(t *testing.T) {
	z := newOver(t, clusterOf(Account{Scope: mustScope(t, usualScope)}))
	for _, tc := range allRows() {
		a := tc.complete()
		decision, reason, _ := z.Authorize(t.Context(), a)
		wrapped, wrappedReason, _ := z.Authorize(t.Context(), struct{ authorizer.Attributes }{a})
		if wrapped != decision || wrappedReason != reason {
			t.Errorf("%s: %v %q, wrapped %v %q", tc.name, decision, reason, wrapped, wrappedReason)
		}
	}
}

type nodeAuthorizerFunc func(authorizer.Attributes) rules.Decision

func (f nodeAuthorizerFunc) Decide(_ context.Context, a authorizer.Attributes) rules.Decision {
	return f(a)
}

// A rule of the node authorizer in audit mode can give a finding for a node. Its pods get the
// same finding, once for each call of the node authorizer.
func TestFindingsOfTheNodeAuthorizer(t *testing.T) {
	z := newOver(t, clusterOf(Account{Scope: Everything()}))
	z.Node = nodeAuthorizerFunc(func(authorizer.Attributes) rules.Decision {
		return rules.Decision{Effect: rules.Allow, Findings: []rules.Finding{{Rule: "NA-POD-6"}}}
	})
	for _, tc := range []struct {
		asks request
		want []rules.ID
	}{
		{request{Verb: "get", Resource: "secrets", Namespace: "ns", Name: "x"}, []rules.ID{"NA-POD-6"}},
		{request{Verb: "delete", Resource: "pods", Namespace: "ns", Name: "x"}, []rules.ID{"NA-POD-6", "NA-POD-6"}},
	} {
		d := z.Decide(t.Context(), row{asks: tc.asks}.complete())
		if diff := cmp.Diff(tc.want, d.Audited()); diff != "" || d.Effect != rules.NoOpinion {
			t.Errorf("%s %s: %v (-want +got):\n%s", tc.asks.Verb, tc.asks.Resource, d.Effect, diff)
		}
	}
}
