// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// newIs returns an authorizer for an API server that is newer than the rules, or is not.
func newIs(mode Mode, newer func() bool, modes map[rules.ID]rules.Mode) *Authorizer {
	return New(Config{Mode: mode, Features: DefaultFeatures(), Relations: relations{GraphOptions(modes, false)},
		Unready: never, Modes: modes, Revoked: stolenIDs, NewerServer: newer})
}

func yes() bool { return true }
func no() bool  { return false }

// TestUnknownResource has a denial for the known version beside each result for a newer one. Only the
// version differs.
func TestUnknownResource(t *testing.T) {
	const podGroups = "no rule allows a node to get podgroups.scheduling.k8s.io"
	unknown := request{Verb: "get", APIGroup: "scheduling.k8s.io", Resource: "podgroups", Namespace: "ns", Name: "x"}
	for _, tc := range []struct {
		name  string
		asks  request
		mode  Mode
		newer func() bool
		want  outcome
	}{
		{"resource without a rule, version not known to be newer: denied", unknown, Strict, nil,
			outcome{Decision: authorizer.DecisionDeny, Reason: podGroups + " [NA-DEFAULT]"}},
		{"resource without a rule, known version: denied", unknown, Strict, no,
			outcome{Decision: authorizer.DecisionDeny, Reason: podGroups + " [NA-DEFAULT]"}},
		{"resource without a rule, newer version: no opinion and a finding", unknown, Strict, yes,
			outcome{Decision: authorizer.DecisionNoOpinion, Reason: podGroups + " [NA-DEFAULT]",
				Findings: []rules.Finding{{Rule: "NA-DEFAULT", Message: podGroups}}}},
		{"resource without a rule, known version, mode compat: no opinion", unknown, Compat, no,
			outcome{Decision: authorizer.DecisionNoOpinion, Reason: podGroups + " [NA-DEFAULT]"}},
		{"resource without a rule, newer version, mode compat: no opinion", unknown, Compat, yes,
			outcome{Decision: authorizer.DecisionNoOpinion, Reason: podGroups + " [NA-DEFAULT]"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, findings := ask(t, newIs(tc.mode, tc.newer, nil), complete(tc.asks))
			if diff := gocmp.Diff(tc.want, outcome{got.Decision, got.Reason, findings, nil}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestNewerServerChangesOnlyUnknownResources compares the decisions for every request of every table.
func TestNewerServerChangesOnlyUnknownResources(t *testing.T) {
	unknown := 0
	for _, mode := range []rules.Mode{rules.Off, rules.Audit, rules.Enforce} {
		for _, a := range everyRequest() {
			known, _ := ask(t, newIs(Strict, no, every(mode)), a)
			newer, findings := ask(t, newIs(Strict, yes, every(mode)), a)
			want := known
			if id, _ := rules.FromReason(known.Reason); id == nothingElse.ID {
				unknown++
				want.Decision = authorizer.DecisionNoOpinion
				if len(findings) != 1 || findings[0].Rule != nothingElse.ID {
					t.Errorf("%+v: findings %v", a, findings)
				}
			}
			if diff := gocmp.Diff(want, newer); diff != "" {
				t.Errorf("%+v (-want +got):\n%s", a, diff)
			}
		}
	}
	if unknown == 0 {
		t.Error("no request is for an unknown resource")
	}
}

// TestKnownResourceStaysDenied checks each resource with a rule by a verb that no node may use.
func TestKnownResourceStaysDenied(t *testing.T) {
	z := newIs(Strict, yes, nil)
	for resource, rule := range touched {
		got, findings := ask(t, z, complete(request{Verb: "frobnicate", APIGroup: resource.Group,
			Resource: resource.Resource, Namespace: "ns", Name: "x"}))
		if id, _ := rules.FromReason(got.Reason); got.Decision != authorizer.DecisionDeny || id != rule || findings != nil {
			t.Errorf("%s: %v %q %v", resource, got.Decision, got.Reason, findings)
		}
	}
}

// TestRevokedCredentialStaysDenied: the list of revoked credentials comes before unknown resources.
func TestRevokedCredentialStaysDenied(t *testing.T) {
	z := newIs(Strict, yes, every(rules.Enforce))
	for _, tc := range revokedTwins() {
		asked := tc.refused
		asked.APIGroup, asked.Resource = "apps", "deployments"
		if got, _ := ask(t, z, complete(asked)); got.Decision != authorizer.DecisionDeny {
			t.Errorf("%s: %v %q", tc.name, got.Decision, got.Reason)
		}
	}
}
