// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/revocationlist"
)

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
		{"a revoked token, for what is in no scope: denied", "system:serviceaccount:ns:agent", stolen, false, "",
			answer{deny, reason, nil}},
		{"another token of the same account: left to RBAC", "system:serviceaccount:ns:agent", good, false, "",
			answer{pass, "[NS-PASS-2]", nil}},
		{"a revoked token of an account in audit: denied", "system:serviceaccount:ns:agent", stolen, true, "",
			answer{deny, reason, nil}},
		{"a revoked token while the cluster is not known: denied by its rule", "system:serviceaccount:ns:agent", stolen,
			false, "is late", answer{deny, reason, nil}},
		{"a user who is no account: no opinion", "somebody", stolen, false, "", answer{pass, "", nil}},
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
