// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestParseMode(t *testing.T) {
	for _, tc := range []struct {
		value  string
		audits bool
		err    string
	}{
		{"audit", true, ""},
		{" audit\n", true, ""},
		{"enforce", false, ""},
		{"", false, `bulkhead.dev/node-scope-mode: "": want enforce or audit`},
		{"off", false, `bulkhead.dev/node-scope-mode: "off": want enforce or audit`},
		{"Audit", false, `bulkhead.dev/node-scope-mode: "Audit": want enforce or audit`},
		{"audit,enforce", false, `bulkhead.dev/node-scope-mode: "audit,enforce": want enforce or audit`},
	} {
		audits, err := ParseMode(tc.value)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if audits != tc.audits || text != tc.err {
			t.Errorf("%q: got %v, %q", tc.value, audits, text)
		}
	}
	if _, err := ParseMode(strings.Repeat("a", 256<<10)); err == nil || len(err.Error()) > 200 {
		t.Errorf("a long value: %v", err)
	}
}

// TestAuditDeniesNothing asks every request of the tables with the account in audit: what
// would have been denied passes by NS-PASS-3 and is told with its rule, and nothing else
// is told.
func TestAuditDeniesNothing(t *testing.T) {
	told := 0
	for _, tc := range allRows() {
		c := clusterOf(Account{Scope: mustScope(t, tc.scopeOf()), Audits: true})
		c.accounts["ns/free"] = Account{Audits: true}
		z := newOver(t, c)
		a := tc.complete()
		id, _ := rules.FromReason(tc.reason)
		want, wantFindings := answer{authorizer.DecisionNoOpinion, tc.reason, nil}, []rules.ID(nil)
		who := identify(a.User, c)
		if !tc.passed && who.audits {
			want.Reason, wantFindings = "[NS-PASS-3]", []rules.ID{id}
			told++
		} else if !tc.passed {
			// Of an account that nobody knows, nobody knows the mode.
			want.Decision = authorizer.DecisionDeny
		}
		d := z.Decide(t.Context(), a)
		decision, reason, err := d.Parts()
		if diff := cmp.Diff(want, answer{decision, reason, err}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
		if diff := cmp.Diff(wantFindings, d.Audited()); diff != "" {
			t.Errorf("%s: findings (-want +got):\n%s", tc.name, diff)
		}
	}
	if told < 30 {
		t.Errorf("only %d requests would have been denied", told)
	}
}

// An account in audit is not one that is held.
func TestAuditHoldsNobody(t *testing.T) {
	c := clusterOf(Account{Scope: Everything(), Audits: true})
	z := newOver(t, c)
	decision, reason, _ := z.Authorize(t.Context(), row{asks: request{Verb: "list", Resource: "secrets"}}.complete())
	if decision != authorizer.DecisionNoOpinion || reason != "[NS-PASS-3]" {
		t.Errorf("%v %q", decision, reason)
	}
	if node, requester := NodeIdentity(agent(), c, Resource{Resource: "secrets"}); node != "" || requester != Others {
		t.Errorf("it asks as %v of %q", requester, node)
	}
	if node, requester := NodeIdentity(agent(), clusterOf(Account{Scope: Everything()}),
		Resource{Resource: "secrets"}); node != "me" || requester != NodeScopedDaemonSet {
		t.Errorf("its twin asks as %v of %q", requester, node)
	}
}

// Before the cluster has been seen nobody knows who is in audit.
func TestAuditIsNotKnownBeforeTheCluster(t *testing.T) {
	z := newOver(t, clusterOf(Account{Scope: Everything(), Audits: true}))
	z.Unready = func() string { return "has not yet seen the whole cluster" }
	decision, reason, _ := z.Authorize(t.Context(), row{asks: request{Verb: "list", Resource: "secrets"}}.complete())
	if decision != authorizer.DecisionDeny || reason != "node scope has not yet seen the whole cluster [NS-UNREADY]" {
		t.Errorf("%v %q", decision, reason)
	}
}
