// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/revocationlist"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestTokens(t *testing.T) { run(t, tokenRows()) }
func TestGrants(t *testing.T) { run(t, grantRows()) }

func tokenRows() []row {
	const asNode = "a pod on node 'me' is limited to what that node may do: "
	const unrelated = asNode + "no relationship found between node 'me' and this object [NA-SA-2] [NS-TOKEN-1]"
	token := func(namespace, account string) request {
		return request{Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: namespace, Name: account}
	}
	certificate := func(verb string) request {
		return request{Verb: verb, APIGroup: "certificates.k8s.io", Resource: "podcertificaterequests", Namespace: "ns"}
	}
	free := tokenOf("free", claimsOf("free-me", "uid-free", "me"))
	return []row{
		{"a token of an account of a pod on its node may have it", nil, "secrets", token("ns", "my-account"), true,
			"[NS-TOKEN-1]"},
		{"a token of an account of a pod on another node is refused", nil, "secrets", token("ns", "their-account"), false,
			unrelated},
		{"a token of an account of no pod is refused", nil, "secrets", token("kube-system", "default"), false, unrelated},
		{"a token of an account of a pod on its node, tokens being in its scope, may have it", nil, "serviceaccounts/token",
			token("ns", "my-account"), true, "[NS-TOKEN-1]"},
		{"a token of an account of a pod on another node, everything being in its scope, is refused", nil, "*",
			token("ns", "their-account"), false, unrelated},
		{"a token of an account of a pod on another node in a review's words is refused", nil, "secrets",
			request{Verb: "create", Resource: "serviceaccounts/token", Namespace: "ns", Name: "their-account"}, false,
			unrelated},
		{"a token of no account in particular is refused", nil, "secrets", token("ns", ""), false,
			asNode + "can only create tokens for individual service accounts [NA-SA-2] [NS-TOKEN-1]"},
		{"a token of an account of a pod on another node, having no scope, may have it", free, "secrets",
			token("ns", "their-account"), true, "[NS-PASS-1]"},
		{"a token of its account, its own token naming no pod, is refused", tokenOf("agent", nil), "secrets",
			token("ns", "my-account"), false, "the token names no pod [NS-IDENT-2]"},
		{"a token of its account, its own pod being gone, is refused",
			tokenOf("agent", claimsOf("agent-me", "uid-old", "me")), "secrets", token("ns", "my-account"), false,
			"the pod of that name is not the one that the token was made for [NS-IDENT-3]"},
		{"another account may read it, accounts not being in its scope", nil, "secrets",
			request{Verb: "get", Resource: "serviceaccounts", Namespace: "ns", Name: "their-account"}, true, "[NS-PASS-1]"},
		{"a new pod certificate may have it", nil, "secrets", certificate("create"), true, "[NS-TOKEN-1]"},
		{"a list of pod certificates, which are not in its scope, may have it", nil, "secrets", certificate("list"), true,
			"[NS-PASS-1]"},
	}
}

func grantRows() []row {
	const refusal = "an account with a node scope cannot give rights to others [NS-GRANT-1]"
	rbac := func(verb, resource string) request {
		return request{Verb: verb, APIGroup: "rbac.authorization.k8s.io", Resource: resource, Namespace: "ns", Name: "x"}
	}
	signing := func(verb, resource, subresource, name string) request {
		return request{Verb: verb, APIGroup: "certificates.k8s.io", Resource: resource, Subresource: subresource, Name: name}
	}
	free := tokenOf("free", claimsOf("free-me", "uid-free", "me"))
	return []row{
		{"a new role binding is refused", nil, "secrets", rbac("create", "rolebindings"), false, refusal},
		{"a changed cluster role binding is refused", nil, "secrets", rbac("patch", "clusterrolebindings"), false, refusal},
		{"a changed cluster role is refused", nil, "secrets", rbac("update", "clusterroles"), false, refusal},
		{"leave to bind a role is refused", nil, "secrets", rbac("bind", "clusterroles"), false, refusal},
		{"leave to escalate a role is refused", nil, "secrets", rbac("escalate", "roles"), false, refusal},
		{"a role binding may get it", nil, "secrets", rbac("get", "rolebindings"), true, "[NS-PASS-1]"},
		{"a new role binding, having no scope, may have it", free, "secrets", rbac("create", "rolebindings"), true,
			"[NS-PASS-1]"},
		{"the approval of a certificate is refused", nil, "secrets",
			signing("update", "certificatesigningrequests", "approval", "x"), false, refusal},
		{"leave to approve for the API server's signer is refused", nil, "secrets",
			signing("approve", "signers", "", "kubernetes.io/kube-apiserver-client"), false, refusal},
		{"leave to sign for the API server's signer is refused", nil, "secrets",
			signing("sign", "signers", "", "kubernetes.io/kube-apiserver-client"), false, refusal},
		{"leave to sign for a signer of its own may have it", nil, "secrets",
			signing("sign", "signers", "", "example.com/agents"), true, "[NS-PASS-1]"},
		{"leave to have a node's certificate approved is refused", nil, "secrets",
			signing("create", "certificatesigningrequests", "nodeclient", ""), false, refusal},
		{"a new certificate signing request may make it", nil, "secrets",
			signing("create", "certificatesigningrequests", "", ""), true, "[NS-PASS-1]"},
		{"leave to approve, having no scope, may have it", free, "secrets",
			signing("approve", "signers", "", "kubernetes.io/kube-apiserver-client"), true, "[NS-PASS-1]"},
	}
}

func TestRulesInEveryScope(t *testing.T) {
	for _, tc := range []struct {
		id   rules.ID
		want bool
	}{{"NS-TOKEN-1", true}, {"NS-IMPERSONATE-1", true}, {"NS-GRANT-1", true}, {"NS-SCOPE-1", false}, {"", false}} {
		if got := InEveryScope(tc.id); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.id, got, tc.want)
		}
	}
}

func TestImpersonation(t *testing.T) { run(t, impersonationRows()) }

func impersonationRows() []row {
	// The API server sends this check once for all pods of the account.
	allPods := tokenOf("agent",
		map[string][]string{"authentication.kubernetes.io/associated-node-keys": {nodeName, nodeUID, podName, podUID}})
	const refusal = "a pod that is limited to its node may impersonate only that node [NS-IMPERSONATE-1]"
	free := tokenOf("free", claimsOf("free-me", "uid-free", "me"))
	return []row{
		{"leave to be its node may have it", allPods, "",
			request{Verb: "impersonate:associated-node", APIGroup: "authentication.k8s.io", Resource: "nodes", Name: "*"}, true,
			"[NS-IMPERSONATE-1]"},
		{"leave to be its node with everything in its scope may have it", allPods, "*",
			request{Verb: "impersonate:associated-node", APIGroup: "authentication.k8s.io", Resource: "nodes", Name: "*"}, true,
			"[NS-IMPERSONATE-1]"},
		{"leave to list secrets as its node may have it", allPods, "",
			request{Verb: "impersonate-on:associated-node:list", Resource: "secrets", Namespace: "ns"}, true,
			"[NS-IMPERSONATE-1]"},
		{"leave to be any node is refused", nil, "",
			request{Verb: "impersonate:arbitrary-node", APIGroup: "authentication.k8s.io", Resource: "nodes", Name: "other"},
			false, refusal},
		{"leave to list secrets as any node is refused", nil, "",
			request{Verb: "impersonate-on:arbitrary-node:list", Resource: "secrets", Namespace: "ns"}, false, refusal},
		{"leave to be another account is refused", nil, "",
			request{Verb: "impersonate:serviceaccount", APIGroup: "authentication.k8s.io", Resource: "serviceaccounts",
				Namespace: "ns", Name: "x"}, false, refusal},
		{"leave to be another user is refused", nil, "",
			request{Verb: "impersonate:user-info", APIGroup: "authentication.k8s.io", Resource: "users", Name: "x"}, false,
			refusal},
		{"leave to be another user in the old way is refused", nil, "",
			request{Verb: "impersonate", Resource: "users", Name: "admin"}, false, refusal},
		{"leave to be a group in the old way is refused", nil, "",
			request{Verb: "impersonate", Resource: "groups", Name: "system:masters"}, false, refusal},
		{"leave to be itself with other claims is refused", nil, "",
			request{Verb: "impersonate", APIGroup: "authentication.k8s.io", Resource: "userextras", Subresource: podName,
				Name: "agent-other"}, false, refusal},
		{"leave to be another user, with a scope of one resource, is refused", nil, "secrets",
			request{Verb: "impersonate", Resource: "users", Name: "admin"}, false, refusal},
		{"leave to be another user, without a scope, may have it", free, "",
			request{Verb: "impersonate", Resource: "users", Name: "admin"}, true, "[NS-PASS-1]"},
		{"leave to be its node, which is nearly so called, is refused", allPods, "",
			request{Verb: "impersonate:associated-nodes", APIGroup: "authentication.k8s.io", Resource: "nodes", Name: "*"},
			false, refusal},
	}
}

func TestRevokedToken(t *testing.T) {
	const stolen, good = "JTI=11111111-2222-3333-4444-555555555555", "JTI=11111111-2222-3333-4444-666666666666"
	set, err := revocationlist.Decode(stolen)
	if err != nil {
		t.Fatal(err)
	}
	const deny, pass = authorizer.DecisionDeny, authorizer.DecisionNoOpinion
	reason := "credential " + stolen + " is revoked [NS-REVOKE-1]"
	discovery := request{Verb: "get", Path: "/api"}
	for _, row := range []struct {
		name    string
		user    string
		id      string
		audits  bool
		unready string
		want    answer
	}{
		{"revoked token, resource outside the scope: denied", "system:serviceaccount:ns:agent", stolen, false, "",
			answer{deny, reason, nil}},
		{"another token of the same account: left to RBAC", "system:serviceaccount:ns:agent", good, false, "",
			answer{pass, "[NS-PASS-2]", nil}},
		{"a revoked token of an account in audit: denied", "system:serviceaccount:ns:agent", stolen, true, "",
			answer{deny, reason, nil}},
		{"a revoked token while the cluster is not known: denied by its rule", "system:serviceaccount:ns:agent", stolen,
			false, "is late", answer{deny, reason, nil}},
		{"user that is not a service account: no opinion", "somebody", stolen, false, "", answer{pass, "", nil}},
	} {
		t.Run(row.name, func(t *testing.T) {
			z := newOver(t, clusterOf(Account{Scope: mustScope(t, usualScope), Audits: row.audits}))
			z.Revoked = func() *revocationlist.Set { return set }
			z.Unready = func() string { return row.unready }
			a := discovery
			a.User = &user.DefaultInfo{Name: row.user, Extra: map[string][]string{user.CredentialIDKey: {row.id}}}
			decision, reason, err := z.Authorize(t.Context(), &a)
			if diff := cmp.Diff(row.want, answer{decision, reason, err}); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
