// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/revocationlist"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	stolenID = "X509SHA256=" + strings.Repeat("5", 64)
	goodID   = "X509SHA256=" + strings.Repeat("6", 64)
)

// stolenIDs are the revoked credentials in all tables.
func stolenIDs() *revocationlist.Set {
	set, _ := revocationlist.Decode(stolenID)
	return set
}

func revokedTwins() []twins {
	ask := func(id string) request {
		return request{
			User: &user.DefaultInfo{Name: "system:node:me", Groups: []string{"system:nodes"},
				Extra: map[string][]string{user.CredentialIDKey: {id}}},
			Verb: "get", APIGroup: "coordination.k8s.io", Resource: "leases", Namespace: "kube-node-lease", Name: "me",
		}
	}
	return []twins{{
		name: "its lease with a revoked certificate", refused: ask(stolenID), allowed: ask(goodID),
		by: credentialRevoked, text: "credential " + stolenID + " is revoked", bare: "[NA-LEASE-3]",
	}}
}

func TestRevokedCredentialRows(t *testing.T) { runTwins(t, revokedTwins()) }

// holder is a node that has authenticated with the credential.
func holder(id string) user.Info {
	return &user.DefaultInfo{
		Name: "system:node:node0", Groups: []string{"system:nodes"},
		Extra: map[string][]string{user.CredentialIDKey: {id}},
	}
}

func askAs(t *testing.T, modes map[rules.ID]rules.Mode, revoked string, unready string, a request) outcome {
	t.Helper()
	set, err := revocationlist.Decode(revoked)
	if err != nil {
		t.Fatal(err)
	}
	z := New(Config{
		Mode: Strict, Features: DefaultFeatures(), Relations: relations{GraphOptions(nil, false)}, Modes: modes,
		Unready: func() string { return unready },
		Revoked: func() *revocationlist.Set { return set },
	})
	got, findings := ask(t, z, &a)
	return outcome{Decision: got.Decision, Reason: got.Reason, Findings: findings}
}

func TestRevokedCredential(t *testing.T) {
	const allow, deny, pass = authorizer.DecisionAllow, authorizer.DecisionDeny, authorizer.DecisionNoOpinion
	lease := request{Verb: "get", APIGroup: "coordination.k8s.io", Resource: "leases", Namespace: "kube-node-lease",
		Name: "node0", ResourceRequest: true}
	otherLease := lease
	otherLease.Name = "node1"
	enforce := map[rules.ID]rules.Mode{"NA-REVOKE-1": rules.Enforce}
	audited := []rules.Finding{{Rule: "NA-REVOKE-1"}}
	reason := "credential " + stolenID + " is revoked [NA-REVOKE-1]"
	for _, row := range []struct {
		name          string
		modes         map[rules.ID]rules.Mode
		list, unready string
		id            string
		request       request
		want          outcome
	}{
		{"own lease with a revoked certificate: denied", enforce, stolenID, "", stolenID, lease,
			outcome{Decision: deny, Reason: reason}},
		{"own lease with another certificate of the node: allowed", enforce, stolenID, "", goodID, lease,
			outcome{Decision: allow, Reason: "[NA-LEASE-3]"}},
		{"own lease with an empty list: allowed", enforce, "", "", stolenID, lease,
			outcome{Decision: allow, Reason: "[NA-LEASE-3]"}},
		{"revoked credential, other node's lease: denied by NA-REVOKE-1", enforce, stolenID, "", stolenID, otherLease,
			outcome{Decision: deny, Reason: reason}},
		{"discovery, which is left to RBAC otherwise: denied", enforce, stolenID, "", stolenID,
			request{Verb: "get", Path: "/api"}, outcome{Decision: deny, Reason: reason}},
		{"discovery with another certificate: left to RBAC", enforce, stolenID, "", goodID,
			request{Verb: "get", Path: "/api"},
			outcome{Decision: pass, Reason: "left to the next authorizers [NA-PASS-1]"}},
		{"while the graph is stale: denied", enforce, stolenID, "is late", stolenID, lease,
			outcome{Decision: deny, Reason: reason}},
		{"while the graph is stale, another certificate: left to others", enforce, stolenID, "is late", goodID, lease,
			outcome{Decision: pass, Reason: "the node authorizer is late [NA-UNREADY]"}},
		{"own lease of a revoked node: denied", enforce, "NODE=node0", "", goodID, lease,
			outcome{Decision: deny, Reason: "node node0 is revoked [NA-REVOKE-1]"}},
		{"own lease while another node is revoked: allowed", enforce, "NODE=node1", "", goodID, lease,
			outcome{Decision: allow, Reason: "[NA-LEASE-3]"}},
		{"a revoked node while the graph is stale: denied", enforce, "NODE=node0", "is late", goodID, lease,
			outcome{Decision: deny, Reason: "node node0 is revoked [NA-REVOKE-1]"}},
		{"the rule in audit: allowed and reported", map[rules.ID]rules.Mode{"NA-REVOKE-1": rules.Audit}, stolenID, "",
			stolenID, lease,
			outcome{Decision: allow, Reason: "[NA-LEASE-3]", Findings: audited}},
		{"revoked credential in audit, other node's lease: denied by NA-LEASE-3",
			map[rules.ID]rules.Mode{"NA-REVOKE-1": rules.Audit}, stolenID, "", stolenID, otherLease,
			outcome{Decision: deny,
				Reason: "can only access node lease with the same name as the requesting node [NA-LEASE-3]"}},
		{"the rule off: allowed", nil, stolenID, "", stolenID, lease, outcome{Decision: allow, Reason: "[NA-LEASE-3]"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.request.User = holder(row.id)
			if diff := cmp.Diff(row.want, askAs(t, row.modes, row.list, row.unready, row.request)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// The certificate approver checks access as the user who created the CSR. So a CSR that was created
// with a revoked credential is not approved.
func TestRevokedCredentialGetsNoNewCertificate(t *testing.T) {
	a := request{Verb: "create", APIGroup: "certificates.k8s.io", Resource: "certificatesigningrequests",
		Subresource: "selfnodeclient", ResourceRequest: true}
	for id, want := range map[string]authorizer.Decision{stolenID: authorizer.DecisionDeny,
		goodID: authorizer.DecisionNoOpinion} {
		a.User = holder(id)
		if got := askAs(t, Modes(rules.Enforce), stolenID, "", a); got.Decision != want {
			t.Errorf("%s: %v %q, want %v", id, got.Decision, got.Reason, want)
		}
	}
}
