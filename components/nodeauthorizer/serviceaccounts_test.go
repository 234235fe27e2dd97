// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import "testing"

const onlyTokens = "can only create tokens for individual service accounts "

func TestServiceAccounts(t *testing.T) { run(t, serviceAccountRows()) }

func serviceAccountRows() []row {
	return []row{
		{"an account of its pod may get it",
			request{Verb: "get", Resource: "serviceaccounts", Namespace: "ns", Name: "my-serviceaccount"}, allowed, "[NA-SA-1]"},
		{"another account is refused", request{Verb: "get", Resource: "serviceaccounts", Namespace: "ns", Name: "other"},
			refused, unrelated + "[NA-SA-1]"},
		{"an account without a name is refused", request{Verb: "get", Resource: "serviceaccounts", Namespace: "ns"}, refused,
			"No Object name found [NA-SA-1]"},
		{"an account without a namespace is refused",
			request{Verb: "get", Resource: "serviceaccounts", Name: "my-serviceaccount"}, refused,
			"can only read namespaced object of this type [NA-SA-1]"},
		{"a token of its pod's account may have it",
			request{Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: "ns",
				Name: "my-serviceaccount"}, allowed, "[NA-SA-2]"},
		{"a token of another account is refused",
			request{Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: "ns", Name: "other"}, refused,
			unrelated + "[NA-SA-2]"},
		{"a token of a namesake in another namespace is refused",
			request{Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: "other",
				Name: "my-serviceaccount"}, refused, unrelated + "[NA-SA-2]"},
		{"a token without an account name is refused",
			request{Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: "ns"}, refused,
			onlyTokens + "[NA-SA-2]"},
		{"the token subresource, to read it, is refused",
			request{Verb: "get", Resource: "serviceaccounts", Subresource: "token", Namespace: "ns", Name: "my-serviceaccount"},
			refused, onlyTokens + "[NA-SA-2]"},
		{"another subresource is refused",
			request{Verb: "create", Resource: "serviceaccounts", Subresource: "tokens", Namespace: "ns",
				Name: "my-serviceaccount"}, refused, "can only create token subresource of serviceaccount [NA-SA-2]"},
		{"a new account is refused", request{Verb: "create", Resource: "serviceaccounts", Namespace: "ns"}, refused,
			onlyTokens + "[NA-SA-2]"},
		{"the update of its pod's account is refused",
			request{Verb: "update", Resource: "serviceaccounts", Namespace: "ns", Name: "my-serviceaccount"}, refused,
			onlyTokens + "[NA-SA-2]"},
		{"a list by name is refused",
			request{Verb: "list", Resource: "serviceaccounts", Namespace: "ns", Name: "my-serviceaccount"}, refused,
			onlyTokens + "[NA-SA-2]"},
	}
}

func TestServiceAccountGates(t *testing.T) {
	account := request{Verb: "get", Resource: "serviceaccounts", Namespace: "ns", Name: "my-serviceaccount"}
	token := request{Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: "ns",
		Name: "my-serviceaccount"}
	runWith(t, Features{}, []row{
		{"an account with both gates off is refused", account, refused, "not allowed to get service accounts [NA-SA-1]"},
		{"a token with both gates off may have it", token, allowed, "[NA-SA-2]"},
	})
	runWith(t, Features{ServiceAccountTokenForCredentialProviders: true}, []row{
		{"an account with the first gate on may get it", account, allowed, "[NA-SA-1]"},
	})
	runWith(t, Features{PodCertificateRequest: true}, []row{
		{"an account with the second gate on may get it", account, allowed, "[NA-SA-1]"},
	})
}

func TestServiceAccountsThatPodsCanUse(t *testing.T) { runTwins(t, serviceAccountTwins()) }

// serviceAccountTwins use two accounts. For one, a pod can use only the account object, for the
// other only its tokens. So a mix-up of the two fails the test.
func serviceAccountTwins() []twins {
	const text = "node 'me' is related to this object only through pods that have no use for it"
	account := func(name string) request {
		return request{Verb: "get", Resource: "serviceaccounts", Namespace: "ns", Name: name}
	}
	token := func(name string) request {
		return request{Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: "ns", Name: name}
	}
	return []twins{
		{
			name:    "an account that no pod can use",
			refused: account("unread-serviceaccount"), allowed: account("tokenless-serviceaccount"),
			by: serviceAccountUsable, bare: "[NA-SA-1]", text: text,
			reads: []string{"me serviceaccount ns/unread-serviceaccount"},
		},
		{
			name:    "a token that no pod can use",
			refused: token("tokenless-serviceaccount"), allowed: token("unread-serviceaccount"),
			by: serviceAccountUsable, bare: "[NA-SA-2]", text: text,
			reads: []string{"me serviceaccounttoken ns/tokenless-serviceaccount"},
		},
	}
}
