// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestExemptions(t *testing.T) {
	const unknown = ": there is no such exemption: there are event-source, node-annotations, pod-annotations, taints, " +
		"uncordon"
	for _, tc := range []struct {
		value string
		lifts bool
		err   string
	}{
		{"", false, ""},
		{" ", false, ""},
		{"taints", true, ""},
		{"\ntaints , taints", true, ""},
		{"uncordon,node-annotations,pod-annotations,event-source", false, ""},
		{"uncordon,taints", true, ""},
		{"labels", false, `"labels"` + unknown},
		{"taints,labels", false, `"labels"` + unknown},
		{"taints,", false, `""` + unknown},
		{"Taints", false, `"Taints"` + unknown},
		{"tаints", false, `"tаints"` + unknown},
		{"*", false, `"*"` + unknown},
		{"NR-NODE-4", false, `"NR-NODE-4"` + unknown},
		{strings.Repeat("taints,", 40000), false, "longer than 8192 bytes"},
	} {
		t.Run(shortened(tc.value), func(t *testing.T) {
			e, err := ParseExemptions(tc.value)
			text := ""
			if err != nil {
				text = strings.TrimPrefix(err.Error(), ExemptionsAnnotation+": ")
			}
			if text != tc.err || e == nil || e.Lifts("NR-NODE-4") != tc.lifts {
				t.Errorf("got %v, %q", e, text)
			}
			if e.Lifts("NR-NODE-1") || e.Lifts("") {
				t.Error("more is lifted than what was named")
			}
		})
	}
	var none *Exemptions
	if none.Lifts("NR-NODE-4") {
		t.Error("no exemptions lift a rule")
	}
}

func TestExemptionsNameExistingRules(t *testing.T) {
	for name, exempted := range lifts {
		for _, id := range exempted {
			if _, ok := rules.Find(noderestriction.Rules, id); !ok {
				t.Errorf("%s exempts from %s, which is not a rule", name, id)
			}
		}
	}
}

// Each exemption disables different rules. The list of all these rules is sorted.
func TestExemptionsDisableDifferentRules(t *testing.T) {
	for name, want := range map[Exemption]rules.ID{
		Taints: "NR-NODE-4", Uncordon: "NR-CORDON-1", NodeAnnotations: "NR-ANNOTATION-1", PodAnnotations: "NR-PODMETA-1",
		EventSource: "NR-EVENT-1",
	} {
		e, err := ParseExemptions(string(name))
		if err != nil {
			t.Error(err)
		}
		for _, id := range Exempted() {
			if e.Lifts(id) != (id == want) {
				t.Errorf("%s exempts from %s: %v", name, id, e.Lifts(id))
			}
		}
	}
	if all := Exempted(); !slices.IsSorted(all) || len(all) != len(lifts) {
		t.Errorf("lifted are %v", all)
	}
}

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

// TestAuditDeniesNothing sends every request of the tables with the account in audit mode. A
// request that would be denied gets no opinion by NS-PASS-3, with a finding that names the
// rule. No other request gets a finding.
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
			// If the account is not known, its mode is not known either, and the request is
			// denied.
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

// The scope of an account in audit mode is not enforced.
func TestAuditModeDeniesNoAccount(t *testing.T) {
	c := clusterOf(Account{Scope: Everything(), Audits: true})
	z := newOver(t, c)
	decision, reason, _ := z.Authorize(t.Context(), row{asks: request{Verb: "list", Resource: "secrets"}}.complete())
	if decision != authorizer.DecisionNoOpinion || reason != "[NS-PASS-3]" {
		t.Errorf("%v %q", decision, reason)
	}
}

// Before the whole cluster has been seen, the mode of an account is not known.
func TestAuditIsNotKnownBeforeTheCluster(t *testing.T) {
	z := newOver(t, clusterOf(Account{Scope: Everything(), Audits: true}))
	z.Unready = func() string { return "has not yet seen the whole cluster" }
	decision, reason, _ := z.Authorize(t.Context(), row{asks: request{Verb: "list", Resource: "secrets"}}.complete())
	if decision != authorizer.DecisionDeny || reason != "node scope has not yet seen the whole cluster [NS-UNREADY]" {
		t.Errorf("%v %q", decision, reason)
	}
}
