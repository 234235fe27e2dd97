// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

func TestDefault(t *testing.T) { run(t, defaultRows()) }

// defaultRows also contains allowed requests for the gates: the user name has a node name, or a
// rule covers the resource.
func defaultRows() []row {
	nameless := &user.DefaultInfo{Name: "system:node:", Groups: []string{"system:nodes"}}
	const unknown = "unknown node for user \"system:node:\" [NA-IDENT-1]"
	return []row{
		{"services without a name of its own is refused", request{User: nameless, Verb: "list", Resource: "services"},
			refused, unknown},
		{"a path without a name of its own is refused", request{User: nameless, Verb: "get", Path: "/version"}, refused,
			unknown},
		{"the node without a name, being nameless, is refused", request{User: nameless, Verb: "list", Resource: "nodes"},
			refused, unknown},
		{"services of another group is refused", request{Verb: "list", APIGroup: "serving.knative.dev", Resource: "services"},
			refused, "no rule allows a node to list services.serving.knative.dev [NA-DEFAULT]"},
		{"deployments is refused", request{Verb: "list", APIGroup: "apps", Resource: "deployments"}, refused,
			"no rule allows a node to list deployments.apps [NA-DEFAULT]"},
		{"namespaces is refused", request{Verb: "get", Resource: "namespaces", Name: "ns"}, refused,
			"no rule allows a node to get namespaces [NA-DEFAULT]"},
		{"storage classes is refused",
			request{Verb: "get", APIGroup: "storage.k8s.io", Resource: "storageclasses", Name: "x"}, refused,
			"no rule allows a node to get storageclasses.storage.k8s.io [NA-DEFAULT]"},
		{"every resource is refused", request{Verb: "*", APIGroup: "*", Resource: "*"}, refused,
			"no rule allows a node to * *.* [NA-DEFAULT]"},
		{"request without attributes: denied", request{}, refused, "no rule allows a node to   [NA-DEFAULT]"},
		{"a resource with its subresource in one is refused", request{Verb: "patch", Resource: "nodes/status", Name: "me"},
			refused, "no rule allows a node to patch nodes/status [NA-DEFAULT]"},
		{"its pod, spelled in capitals, is refused", request{Verb: "get", Resource: "Pods", Namespace: "ns", Name: "my-pod"},
			refused, "no rule allows a node to get Pods [NA-DEFAULT]"},
	}
}

func TestNotANode(t *testing.T) {
	for name, u := range map[string]user.Info{
		"no user":             nil,
		"a user without name": &user.DefaultInfo{},
		"a pod": &user.DefaultInfo{Name: "system:serviceaccount:ns:x",
			Groups: []string{"system:serviceaccounts"}},
		"a node by name only": &user.DefaultInfo{Name: "system:node:me"},
		"a group member only": &user.DefaultInfo{Name: "me", Groups: []string{"system:nodes"}},
		"the administrator":   &user.DefaultInfo{Name: "admin", Groups: []string{"system:masters"}},
	} {
		t.Run(name+" gets no opinion", func(t *testing.T) {
			for _, mode := range []Mode{Compat, Strict} {
				for _, tc := range allRows() {
					a := tc.attributes()
					a.User = u
					decision, reason, err := newIn(mode, DefaultFeatures()).Authorize(t.Context(), a)
					if diff := cmp.Diff(answer{authorizer.DecisionNoOpinion, "", nil}, answer{decision, reason, err}); diff != "" {
						t.Errorf("%s (-want +got):\n%s", tc.name, diff)
					}
				}
			}
		})
	}
}

func TestNoAttributesGetNoOpinion(t *testing.T) {
	decision, reason, err := newIn(Strict, DefaultFeatures()).Authorize(t.Context(), nil)
	if diff := cmp.Diff(answer{authorizer.DecisionNoOpinion, "", nil}, answer{decision, reason, err}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUnready(t *testing.T) {
	for text, why := range map[string]func() string{
		"has not yet seen the whole cluster": func() string { return "has not yet seen the whole cluster" },
		"knows nothing of the cluster":       nil,
	} {
		want := answer{authorizer.DecisionNoOpinion, "the node authorizer " + text + " [NA-UNREADY]", nil}
		for _, mode := range []Mode{Compat, Strict} {
			z := New(Config{Mode: mode, Features: DefaultFeatures(), Relations: relations{}, Unready: why})
			for _, tc := range allRows() {
				if tc.asks.User != nil {
					continue
				}
				decision, reason, err := z.Authorize(t.Context(), tc.attributes())
				if diff := cmp.Diff(want, answer{decision, reason, err}); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", text, tc.name, diff)
				}
			}
		}
	}
}

func TestWithoutRelationsNothingIsRelated(t *testing.T) {
	z := New(Config{Unready: never})
	a := row{asks: request{Verb: "get", Resource: "secrets", Namespace: "ns", Name: "my-secret"}}.attributes()
	decision, reason, err := z.Authorize(t.Context(), a)
	if diff := cmp.Diff(answer{authorizer.DecisionNoOpinion, unrelated + "[NA-SECRET-1]", nil},
		answer{decision, reason, err}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestVersionDoesNotMatter(t *testing.T) {
	for _, version := range []string{"", "*", "v1", "v1alpha1", "x"} {
		a := row{asks: request{Verb: "update", APIGroup: "coordination.k8s.io", Resource: "leases",
			Namespace: "kube-node-lease", Name: "me"}}.attributes()
		a.APIVersion = version
		decision, reason, err := newIn(Strict, DefaultFeatures()).Authorize(t.Context(), a)
		if diff := cmp.Diff(answer{authorizer.DecisionAllow, "[NA-LEASE-3]", nil},
			answer{decision, reason, err}); diff != "" {
			t.Errorf("version %q (-want +got):\n%s", version, diff)
		}
	}
}

// noNews is a [Refresher] for a view that is current.
type noNews struct{}

func (noNews) Refresh(context.Context, string, graph.Kind, string, string) string { return "" }
func (noNews) RefreshNode(context.Context, string) string                         { return "" }

func TestRulesFor(t *testing.T) {
	type result struct {
		Rules      int
		Incomplete bool
		Err        error
	}
	for _, tc := range []struct {
		name string
		user user.Info
		want result
	}{
		{"a node's rights are incomplete", theNode(), result{0, true, errNoRuleResolution}},
		{"a nameless node's rights are incomplete", &user.DefaultInfo{Name: "system:node:", Groups: []string{"system:nodes"}},
			result{0, true, errNoRuleResolution}},
		{"another user's rights are complete and none", &user.DefaultInfo{Name: "x"}, result{}},
		{"no user: complete and empty", nil, result{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resources, paths, incomplete, err := newIn(Compat, DefaultFeatures()).RulesFor(t.Context(), tc.user, "ns")
			if diff := cmp.Diff(tc.want, result{len(resources) + len(paths), incomplete, err},
				cmpopts.EquateErrors()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestConditionsAwareAuthorizeAgreesWithAuthorize(t *testing.T) {
	z := newIn(Strict, DefaultFeatures())
	for _, tc := range allRows() {
		want := authorizer.ConditionsAwareDecisionFromParts(z.Authorize(t.Context(), tc.attributes()))
		got := z.ConditionsAwareAuthorize(t.Context(), tc.attributes())
		if got.String() != want.String() {
			t.Errorf("%s: got %v, want %v", tc.name, got, want)
		}
	}
}

func TestConditionsAreDenied(t *testing.T) {
	decision, reason, err := newIn(Compat, DefaultFeatures()).EvaluateConditions(t.Context(),
		authorizer.ConditionsAwareDecisionAllow("x", nil), nil)
	if decision != authorizer.DecisionDeny || reason != "" ||
		!errors.Is(err, authorizer.ErrorConditionEvaluationNotSupported) {
		t.Errorf("got %v, %q, %v", decision, reason, err)
	}
}
