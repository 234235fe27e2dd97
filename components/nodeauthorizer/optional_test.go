// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"reflect"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestEveryOptionalRuleHasAllowAndDenyRows(t *testing.T) {
	proved := map[rules.ID]bool{}
	for _, tc := range allTwins() {
		proved[tc.by.ID] = true
		fields := 0
		one, other := reflect.ValueOf(tc.refused), reflect.ValueOf(tc.allowed)
		for i := range one.NumField() {
			if !reflect.DeepEqual(one.Field(i).Interface(), other.Field(i).Interface()) {
				fields++
			}
		}
		if fields != 1 {
			t.Errorf("%s: the twins differ in %d fields", tc.name, fields)
		}
	}
	for _, r := range Rules {
		if r.Optional != proved[r.ID] {
			t.Errorf("%s: optional %v, has twins %v", r.ID, r.Optional, proved[r.ID])
		}
		if r.Optional && !r.Extension {
			t.Errorf("%s is optional, so it is an extension", r.ID)
		}
	}
}

// everyRequest has the requests of all tables, each by a node with a Node object and by a node
// without one.
func everyRequest() []*request {
	var all []*request
	add := func(a *request) {
		all = append(all, a)
		if a.User.GetName() == "system:node:me" {
			another := *a
			another.User = nodeNamed("stranger")
			all = append(all, &another)
		}
	}
	for _, tc := range allRows() {
		add(tc.attributes())
	}
	for _, tc := range allTwins() {
		add(complete(tc.refused))
		add(complete(tc.allowed))
	}
	return all
}

// TestAuditReportsWhatEnforceWouldDeny checks every request of every table. Audit gives the same
// decision as off. It also reports one finding, with the same rule, for each allowed request that
// enforce refuses.
func TestAuditReportsWhatEnforceWouldDeny(t *testing.T) {
	findings := 0
	for _, a := range everyRequest() {
		off := decideIn(t, Strict, nil, a, &reader{})
		audited := decideIn(t, Strict, every(rules.Audit), a, &reader{})
		enforced := decideIn(t, Strict, every(rules.Enforce), a, &reader{})
		want := outcome{Decision: off.Decision, Reason: off.Reason, Reads: audited.Reads}
		if id, _ := rules.FromReason(enforced.Reason); off.Decision == authorizer.DecisionAllow &&
			enforced.Decision == authorizer.DecisionDeny {
			want.Findings = []rules.Finding{{Rule: id}}
			findings++
		}
		if diff := gocmp.Diff(want, audited); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", a, diff)
		}
		if len(off.Findings)+len(enforced.Findings) > 0 {
			t.Errorf("%+v: findings outside audit", a)
		}
	}
	if findings < 2*len(allTwins()) {
		t.Errorf("only %d findings", findings)
	}
}

// TestAnAllowanceIsNotReadLive: a kubelet must not wait for a live read if the view already has the
// relation.
func TestAnAllowanceIsNotReadLive(t *testing.T) {
	for _, mode := range []rules.Mode{rules.Off, rules.Audit, rules.Enforce} {
		for _, a := range everyRequest() {
			got := decideIn(t, Strict, Modes(mode), a, &reader{})
			if got.Decision == authorizer.DecisionAllow && len(got.Findings) == 0 && len(got.Reads) > 0 {
				t.Errorf("%v: %+v is allowed by %s after %v", mode, a, got.Reason, got.Reads)
			}
		}
	}
}

func TestParseModes(t *testing.T) {
	const optional = "you can set the mode of: NA-REVOKE-1, NA-SECRET-3, NA-CM-3, NA-PVC-3, NA-SA-3, NA-NODE-4, " +
		"NA-POD-6, NA-ENDPOINTS-1, NA-CSR-1"
	enforced := func(change func(map[rules.ID]rules.Mode)) map[rules.ID]rules.Mode {
		modes := map[rules.ID]rules.Mode{
			"NA-PVC-3": rules.Enforce, "NA-SA-3": rules.Enforce, "NA-NODE-4": rules.Enforce,
			"NA-POD-6": rules.Enforce, "NA-ENDPOINTS-1": rules.Enforce, "NA-CSR-1": rules.Enforce, "NA-REVOKE-1": rules.Enforce,
			"NA-SECRET-3": rules.Audit, "NA-CM-3": rules.Audit,
		}
		change(modes)
		return modes
	}
	for _, tc := range []struct {
		name     string
		single   map[string]string
		want     map[rules.ID]rules.Mode
		problems []string
	}{
		{"no rule modes", nil, enforced(func(map[rules.ID]rules.Mode) {}), nil},
		{"two rule modes", map[string]string{"NA-CSR-1": "audit", "NA-POD-6": "off"},
			enforced(func(m map[rules.ID]rules.Mode) { m["NA-CSR-1"], m["NA-POD-6"] = rules.Audit, rules.Off }), nil},
		{"several invalid rule modes",
			map[string]string{"NA-CSR-1": "on", "NA-LEASE-1": "off", "NA-X-1": "", "na-csr-1": "off"},
			enforced(func(map[rules.ID]rules.Mode) {}), []string{
				`NA-CSR-1: invalid mode "on": use off, audit or enforce`,
				"NA-LEASE-1 is always enforced; " + optional,
				`NA-X-1: invalid mode "": use off, audit or enforce`,
				`there is no rule "na-csr-1"; ` + optional,
			}},
	} {
		t.Run("an administrator who asks for "+tc.name, func(t *testing.T) {
			got, problems := rules.ParseModes(Rules, rules.Enforce, tc.single)
			var texts []string
			for _, problem := range problems {
				texts = append(texts, problem.Error())
			}
			if diff := gocmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := gocmp.Diff(tc.problems, texts); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestResourcesNeededPerMode(t *testing.T) {
	for _, tc := range []struct {
		name  string
		modes map[rules.ID]rules.Mode
		graph graph.Options
		needs Needs
	}{
		{"all rules off: no resources", Modes(rules.Off), graph.Options{}, Needs{}},
		{"all rules enforced: all resources", Modes(rules.Enforce),
			graph.Options{Ended: rules.Enforce, Unusable: rules.Enforce, Unowned: rules.Enforce},
			Needs{true, true, true, true, true}},
		{"the list of revoked credentials to audit NA-REVOKE-1", map[rules.ID]rules.Mode{"NA-REVOKE-1": rules.Audit},
			graph.Options{}, Needs{Revocations: true}},
		{"the nodes to audit NA-NODE-4", map[rules.ID]rules.Mode{"NA-NODE-4": rules.Audit}, graph.Options{},
			Needs{Nodes: true}},
		{"the requests to audit NA-CSR-1", map[rules.ID]rules.Mode{"NA-CSR-1": rules.Audit}, graph.Options{},
			Needs{CertificateSigningRequests: true}},
		{"the claims to audit NA-PVC-3", map[rules.ID]rules.Mode{"NA-PVC-3": rules.Audit},
			graph.Options{Unowned: rules.Audit}, Needs{PersistentVolumeClaims: true}},
		{"the ends of pods to audit NA-POD-6", map[rules.ID]rules.Mode{"NA-POD-6": rules.Audit},
			graph.Options{Ended: rules.Audit}, Needs{PodEnds: true}},
		{"only pods to audit NA-SA-3", map[rules.ID]rules.Mode{"NA-SA-3": rules.Audit}, graph.Options{Unusable: rules.Audit},
			Needs{}},
		{"NA-ENDPOINTS-1: no resources", map[rules.ID]rules.Mode{"NA-ENDPOINTS-1": rules.Enforce}, graph.Options{}, Needs{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := gocmp.Diff(tc.graph, GraphOptions(tc.modes, false)); diff != "" {
				t.Errorf("graph (-want +got):\n%s", diff)
			}
			if diff := gocmp.Diff(tc.needs, NeedsOf(tc.modes)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if !GraphOptions(nil, true).CredentialProviders {
		t.Error("credential providers are forgotten")
	}
}
