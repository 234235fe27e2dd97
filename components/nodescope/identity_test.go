// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"maps"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// edited is the usual token with other claims. A key without values is removed.
func edited(changes map[string][]string) user.Info {
	extra := claimsOf("agent-me", "uid-me", "me")
	maps.Copy(extra, changes)
	maps.DeleteFunc(extra, func(_ string, values []string) bool { return values == nil })
	return tokenOf("agent", extra)
}

func TestIdentity(t *testing.T) { run(t, identityRows()) }

func identityRows() []row {
	secret := request{Verb: "get", Resource: "secrets", Namespace: "ns", Name: "my-secret"}
	// Only the scope denies the pod this request.
	config := request{Verb: "get", Resource: "configmaps", Namespace: "ns", Name: "x"}
	const noPod, broken = "the token names no pod [NS-IDENT-2]",
		"the token's claims of its pod are incomplete [NS-IDENT-2]"
	const gone = "the pod of the token is not there [NS-IDENT-3]"
	named := func(name string) user.Info { return &user.DefaultInfo{Name: name} }
	const nameless = "the user name has no namespace and name of an account [NS-IDENT-1]"
	return []row{
		{"the secret of its node may get it", nil, "", secret, true, "[NS-SCOPE-1]"},
		{"a secret with a token of its account on another node is refused",
			tokenOf("agent", claimsOf("agent-other", "uid-other", "other")), "", secret, false,
			"a pod on node 'other' is limited to what that node may do: no relationship found between node 'other' and this " +
				"object [NA-SECRET-1] [NS-SCOPE-1]"},
		{"a secret with a token of no pod is refused", tokenOf("agent", nil), "", secret, false, noPod},
		{"a config map outside the scope with a token of no pod may get it", tokenOf("agent", nil), "", config, true,
			"[NS-PASS-1]"},
		{"a secret with a token of a Node is refused", edited(map[string][]string{podName: nil, podUID: nil}), "", secret,
			false, noPod},
		{"a secret with a token of two pods is refused", edited(map[string][]string{podName: {"agent-me", "agent-other"}}),
			"", secret, false, broken},
		{"a secret with a token of the same pod twice is refused",
			edited(map[string][]string{podName: {"agent-me", "agent-me"}}), "", secret, false, broken},
		{"a secret with a token of an empty pod is refused", edited(map[string][]string{podName: {""}}), "", secret, false,
			broken},
		{"a secret with a token of a list of no pods is refused", edited(map[string][]string{podName: {}}), "", secret, false,
			broken},
		{"a secret with a token of a pod without UID is refused", edited(map[string][]string{podUID: nil}), "", secret, false,
			broken},
		{"a secret with a token of a UID without pod is refused", edited(map[string][]string{podName: nil}), "", secret,
			false, broken},
		{"a secret with a token of two UIDs is refused", edited(map[string][]string{podUID: {"uid-me", "x"}}), "", secret,
			false, broken},
		{"a secret with a token of two nodes is refused", edited(map[string][]string{nodeName: {"me", "other"}}), "", secret,
			false, broken},
		{"a secret with a token of an empty node is refused", edited(map[string][]string{nodeName: {""}}), "", secret, false,
			broken},
		{"a secret with a token of an empty Node UID is refused", edited(map[string][]string{nodeUID: {""}}), "", secret,
			false, broken},
		{"a secret with a token of a Node UID without node is refused", edited(map[string][]string{nodeName: nil}), "",
			secret, false, broken},
		{"a config map outside the scope with a token of two pods is refused",
			edited(map[string][]string{podName: {"agent-me", "x"}}), "", config, false, broken},
		{"a secret with a token of a pod that was deleted is refused", edited(map[string][]string{podName: {"agent-gone"}}),
			"", secret, false, gone},
		{"a config map outside the scope with a token of a deleted pod is refused",
			edited(map[string][]string{podName: {"agent-gone"}}), "", config, false, gone},
		{"a secret with a token of the pod's predecessor is refused", edited(map[string][]string{podUID: {"uid-before"}}), "",
			secret, false, "the pod of that name is not the one that the token was made for [NS-IDENT-3]"},
		{"a secret with a token of a pod of another account is refused",
			tokenOf("agent", claimsOf("free-me", "uid-free", "me")), "", secret, false,
			"the pod of the token does not run as the account [NS-IDENT-3]"},
		{"a secret with a token of a mirror pod is refused", tokenOf("agent", claimsOf("mirror-me", "uid-mirror", "me")), "",
			secret, false, "the pod of the token does not run as the account [NS-IDENT-3]"},
		{"the version with a token of a pod that was deleted may get it",
			edited(map[string][]string{podName: {"agent-gone"}}), "", request{Verb: "get", Path: "/version"}, true,
			"[NS-PASS-2]"},
		{"a secret with a token that names another node is refused", edited(map[string][]string{nodeName: {"other"}}), "",
			secret, false, "the token names another node than the one that its pod is on [NS-IDENT-4]"},
		{"a secret with a token that names no node is refused", edited(map[string][]string{nodeName: nil, nodeUID: nil}), "",
			secret, false, "the token names no node [NS-IDENT-4]"},
		{"a secret with a token that names a node without its UID may get it", edited(map[string][]string{nodeUID: nil}), "",
			secret, true, "[NS-SCOPE-1]"},
		{"a secret with a token of a pod on no node is refused",
			tokenOf("agent", claimsOf("agent-pending", "uid-pending", "me")), "", secret, false,
			"the pod of the token is bound to no node [NS-IDENT-4]"},
		{"a config map outside the scope with a token that names no node may get it",
			edited(map[string][]string{nodeName: nil, nodeUID: nil}), "", config, true, "[NS-PASS-1]"},
		{"a secret as an account that is not known is refused", tokenOf("stranger", claimsOf("agent-me", "uid-me", "me")), "",
			secret, false, "the scope of the account is not known [NS-UNREADY]"},
		{"the version as an account that is not known is refused", tokenOf("stranger", nil), "",
			request{Verb: "get", Path: "/version"}, false, "the scope of the account is not known [NS-UNREADY]"},
		{"a secret as no account in particular is refused", named("system:serviceaccount:"), "", secret, false, nameless},
		{"a secret as an account without a name is refused", named("system:serviceaccount:ns:"), "", secret, false, nameless},
		{"a secret as an account without a namespace is refused", named("system:serviceaccount::agent"), "", secret, false,
			nameless},
		{"a secret as an account with a third part is refused", named("system:serviceaccount:ns:agent:x"), "", secret, false,
			nameless},
		{"the version as an account whose name has a long label may get it",
			named("system:serviceaccount:ns:" + strings.Repeat("a", 100)), "", request{Verb: "get", Path: "/version"}, true,
			"[NS-PASS-2]"},
		{"a config map as an account with the longest name may get it",
			named("system:serviceaccount:ns:" + strings.Repeat("a", 253)), "", config, true, "[NS-PASS-1]"},
		{"a config map as an account with a longer name is refused",
			named("system:serviceaccount:ns:" + strings.Repeat("a", 254)), "", config, false, nameless},
		{"a config map in the longest namespace may get it",
			named("system:serviceaccount:" + strings.Repeat("n", 63) + ":agent"), "", config, true, "[NS-PASS-1]"},
		{"a config map in a longer namespace is refused",
			named("system:serviceaccount:" + strings.Repeat("n", 64) + ":agent"), "", config, false, nameless},
		{"a config map as an account with an empty label is refused", named("system:serviceaccount:ns:a..b"), "", config,
			false, nameless},
		{"the version as an account without a name is refused", named("system:serviceaccount:ns:"), "",
			request{Verb: "get", Path: "/version"}, false, nameless},
		{"the version as an account with a name may get it", nil, "", request{Verb: "get", Path: "/version"}, true,
			"[NS-PASS-2]"},
	}
}

// A pod can only add resources to the scope of its account.
func TestPodsAdd(t *testing.T) {
	secrets, configMaps := request{Verb: "get", Resource: "secrets", Namespace: "ns", Name: "x"},
		request{Verb: "get", Resource: "configmaps", Namespace: "ns", Name: "x"}
	for _, tc := range []struct {
		name         string
		account, pod *Scope
		// These fields say whether secrets and config maps are in the scope.
		secrets, configMaps bool
	}{
		{"neither", nil, nil, false, false},
		{"the account", mustScope(t, "secrets"), nil, true, false},
		{"the pod", nil, mustScope(t, "configmaps"), false, true},
		{"both", mustScope(t, "secrets"), mustScope(t, "configmaps"), true, true},
		{"pod without claims", mustScope(t, "secrets"), mustScope(t, ""), true, false},
		{"a pod with everything", mustScope(t, "secrets"), Everything(), true, true},
	} {
		t.Run("by "+tc.name, func(t *testing.T) {
			c := clusterOf(Account{Scope: tc.account})
			pod := c.pods["ns/agent-me"]
			pod.Scope = tc.pod
			c.pods["ns/agent-me"] = pod
			for _, q := range []struct {
				asks request
				held bool
			}{{secrets, tc.secrets}, {configMaps, tc.configMaps}} {
				decision, reason, _ := newOver(t, c).Authorize(t.Context(), row{asks: q.asks}.complete())
				if (decision == authorizer.DecisionDeny) != q.held {
					t.Errorf("%s: %v %q, want held %v", q.asks.Resource, decision, reason, q.held)
				}
			}
		})
	}
}

// A token without a pod must not permit more than the tokens of the pods.
func TestTokensWithoutAPodHaveTheScopeOfThePods(t *testing.T) {
	c := clusterOf(Account{OfPods: mustScope(t, "secrets")})
	for _, tc := range []struct {
		name string
		who  user.Info
		want authorizer.Decision
	}{
		{"without a pod", tokenOf("agent", nil), authorizer.DecisionDeny},
		{"of a pod without an annotation", agent(), authorizer.DecisionNoOpinion},
	} {
		asks := row{who: tc.who, asks: request{Verb: "list", Resource: "secrets"}}
		if decision, reason, _ := newOver(t, c).Authorize(t.Context(), asks.complete()); decision != tc.want {
			t.Errorf("a token %s: %v %q", tc.name, decision, reason)
		}
	}
}

func TestIdentify(t *testing.T) {
	secrets, configMaps := Resource{Resource: "secrets"}, Resource{Resource: "configmaps"}
	for _, tc := range []struct {
		name string
		who  user.Info
		asks Resource
		// covered says whether the user is limited to the node on the resource.
		covered bool
		node    string
	}{
		{"pod, resource in the scope", agent(), secrets, true, "me"},
		{"pod, resource outside the scope", agent(), configMaps, false, "me"},
		{"a pod of an account without a scope", tokenOf("free", claimsOf("free-me", "uid-free", "me")), secrets, false, "me"},
		{"account without a pod, resource in the scope", tokenOf("agent", nil), secrets, true, ""},
		{"account without a pod, resource outside the scope", tokenOf("agent", nil), configMaps, false, ""},
		{"a pod that is gone, on anything", edited(map[string][]string{podUID: {"x"}}), configMaps, true, ""},
		{"a pod that is gone, on its own rights", edited(map[string][]string{podUID: {"x"}}),
			Resource{Group: "authentication.k8s.io", Resource: "selfsubjectreviews"}, false, ""},
		{"an account that is not known, on anything", tokenOf("stranger", nil), configMaps, true, ""},
		{"a kubelet", &user.DefaultInfo{Name: "system:node:me", Groups: []string{"system:nodes"}}, secrets, false, ""},
		{"an administrator", &user.DefaultInfo{Name: "admin", Groups: []string{"system:masters"}}, secrets, false, ""},
		{"no user", nil, secrets, false, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			who := Identify(tc.who, clusterOf(Account{Scope: mustScope(t, "secrets")}))
			if who.Covers(tc.asks) != tc.covered || who.Node() != tc.node {
				t.Errorf("covered %v, node %q, want %v, %q", who.Covers(tc.asks), who.Node(), tc.covered, tc.node)
			}
		})
	}
}

// Identify returns what the authorizer decides by, for every request of the tables.
func TestIdentifyAgreesWithTheAuthorizer(t *testing.T) {
	for _, tc := range allRows() {
		c := clusterOf(Account{Scope: mustScope(t, tc.scopeOf())})
		a := tc.complete()
		who, want := Identify(a.User, c), identify(a.User, c)
		r, why, against := who.Against()
		if who.Node() != want.node || who.Covers(asked(a)) != want.scopes.covers(asked(a)) ||
			against != (want.against != "") || why != want.why {
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

func TestIdentifyUsersWithoutAScope(t *testing.T) {
	c := clusterOf(Account{Scope: Everything(), Exemptions: &Exemptions{exempted: lifts[Taints]}, Audits: true})
	for name, u := range map[string]user.Info{"no user": nil, "a user": &user.DefaultInfo{Name: "x"},
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
