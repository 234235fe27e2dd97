// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"cmp"
	"context"
	"reflect"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// twins are two requests that differ in one field. An optional rule, enforced,
// refuses the one and leaves the other alone; the rule of the class allows both
// otherwise. The name finishes the sentence "a node that asks for …".
type twins struct {
	name    string
	refused request
	allowed request
	by      rules.Rule
	text    string
	bare    string
	// bareTwin is what allows the twin; bare if it is empty.
	bareTwin string
	// reads are the live reads before the refusal.
	reads []string
}

// reader is a [Confirmer] that notes what it is asked.
type reader struct {
	reads []string
	// why is its answer.
	why string
	// finds is called for each read.
	finds func(read string)
	ctx   context.Context
}

func (r *reader) Confirm(ctx context.Context, node string, kind graph.Kind, namespace, name string) string {
	return r.read(ctx, node+" "+kind.String()+" "+namespace+"/"+name)
}

func (r *reader) ConfirmNode(ctx context.Context, node string) string {
	return r.read(ctx, "node "+node)
}

func (r *reader) read(ctx context.Context, what string) string {
	r.reads, r.ctx = append(r.reads, what), ctx
	if r.finds != nil {
		r.finds(what)
	}
	return r.why
}

// outcome is all that can be seen of one decision.
type outcome struct {
	Decision authorizer.Decision
	Reason   string
	Findings []rules.Finding
	Reads    []string
}

// decideIn asks an authorizer whose optional rules are in the given modes.
func decideIn(t *testing.T, mode Mode, modes map[rules.ID]rules.Mode, a *request, r *reader) outcome {
	t.Helper()
	return decideOver(t, relations{GraphOptions(modes, false)}, mode, modes, a, r)
}

func decideOver(t *testing.T, view Relations, mode Mode, modes map[rules.ID]rules.Mode, a *request, r *reader) outcome {
	t.Helper()
	z := New(Config{Mode: mode, Features: DefaultFeatures(), Relations: view, Confirmer: r, Modes: modes, Unready: never, Revoked: stolenIDs})
	got, findings := ask(t, z, a)
	return outcome{got.Decision, got.Reason, findings, r.reads}
}

// runTwins tries both requests with the rule in each mode, alone and together with
// all others.
func runTwins(t *testing.T, all []twins) {
	t.Helper()
	for _, tc := range all {
		t.Run(tc.name, func(t *testing.T) {
			for _, mode := range []rules.Mode{rules.Off, rules.Audit, rules.Enforce} {
				for _, modes := range []map[rules.ID]rules.Mode{{tc.by.ID: mode}, tc.besides(mode)} {
					tc.check(t, mode, modes)
				}
			}
		})
	}
}

// every gives each optional rule the mode, also one that is enforced only by name.
func every(mode rules.Mode) map[rules.ID]rules.Mode {
	modes := map[rules.ID]rules.Mode{}
	for _, r := range Rules {
		if r.Optional {
			modes[r.ID] = mode
		}
	}
	return modes
}

// besides gives every rule the mode, but for those that would refuse both twins.
func (tc twins) besides(mode rules.Mode) map[rules.ID]rules.Mode {
	modes := every(mode)
	if tc.by != secretUnwatched && tc.by != configMapUnwatched {
		delete(modes, secretUnwatched.ID)
		delete(modes, configMapUnwatched.ID)
	}
	return modes
}

func (tc twins) check(t *testing.T, mode rules.Mode, modes map[rules.ID]rules.Mode) {
	t.Helper()
	allowance := outcome{Decision: authorizer.DecisionAllow, Reason: tc.bare}
	for refusals, decision := range map[Mode]authorizer.Decision{Compat: authorizer.DecisionNoOpinion, Strict: authorizer.DecisionDeny} {
		asked := complete(tc.refused)
		want := allowance
		switch mode {
		case rules.Audit:
			want.Reads, want.Findings = tc.reads, []rules.Finding{{Rule: tc.by.ID}}
		case rules.Enforce:
			want = outcome{Decision: decision, Reason: tc.text + " [" + string(tc.by.ID) + "]", Reads: tc.reads}
		}
		if diff := gocmp.Diff(want, decideIn(t, refusals, modes, asked, &reader{})); diff != "" {
			t.Errorf("in %v of %d rules (-want +got):\n%s", mode, len(modes), diff)
		}
		want, asked = allowance, complete(tc.allowed)
		want.Reason = cmp.Or(tc.bareTwin, tc.bare)
		if tc.allowed.Resource != tc.refused.Resource {
			want.Reason = "[NA-UNI-SERVICES]"
		}
		if diff := gocmp.Diff(want, decideIn(t, refusals, modes, asked, &reader{})); diff != "" {
			t.Errorf("the twin in %v of %d rules (-want +got):\n%s", mode, len(modes), diff)
		}
	}
}

// allTwins are those of all families.
func allTwins() []twins {
	var all []twins
	for _, family := range [][]twins{
		endpointTwins(), certificateSigningRequestTwins(), serviceAccountTwins(),
		persistentVolumeClaimTwins(), registeredTwins(), podEndedTwins(), unwatchedTwins(), revokedTwins(),
	} {
		all = append(all, family...)
	}
	return all
}

func TestEveryOptionalRuleHasTwins(t *testing.T) {
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

// everyRequest is what all tables ask, by a node with and one without a Node
// object.
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

// TestAuditSaysWhatEnforceWouldRefuse holds the promise of audit for every request
// of every table: the answers of off, and one finding for each allowance that
// enforce refuses, by the same rule.
func TestAuditSaysWhatEnforceWouldRefuse(t *testing.T) {
	findings := 0
	for _, a := range everyRequest() {
		off := decideIn(t, Strict, nil, a, &reader{})
		audited := decideIn(t, Strict, every(rules.Audit), a, &reader{})
		enforced := decideIn(t, Strict, every(rules.Enforce), a, &reader{})
		want := outcome{Decision: off.Decision, Reason: off.Reason, Reads: audited.Reads}
		if id, _ := rules.FromReason(enforced.Reason); off.Decision == authorizer.DecisionAllow && enforced.Decision == authorizer.DecisionDeny {
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

// TestAnAllowanceIsNotReadLive, because a kubelet should not wait for what the
// view knows.
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
	const optional = "optional are NA-REVOKE-1, NA-SECRET-3, NA-CM-3, NA-PVC-3, NA-SA-3, NA-NODE-4, NA-POD-6, NA-ENDPOINTS-1, NA-CSR-1"
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
		{"nothing leaves one mode for all", nil, enforced(func(map[rules.ID]rules.Mode) {}), nil},
		{"two of them changes those two", map[string]string{"NA-CSR-1": "audit", "NA-POD-6": "off"}, enforced(func(m map[rules.ID]rules.Mode) { m["NA-CSR-1"], m["NA-POD-6"] = rules.Audit, rules.Off }), nil},
		{"much that is wrong hears of all of it", map[string]string{"NA-CSR-1": "on", "NA-LEASE-1": "off", "NA-X-1": "", "na-csr-1": "off"}, enforced(func(m map[rules.ID]rules.Mode) { m["NA-CSR-1"] = rules.Off }), []string{
			`NA-CSR-1: "on" is no mode: it must be one of off, audit, enforce`,
			"NA-LEASE-1 is always enforced: " + optional,
			`NA-X-1: "" is no mode: it must be one of off, audit, enforce`,
			`there is no rule "NA-X-1": ` + optional,
			`there is no rule "na-csr-1": ` + optional,
		}},
	} {
		t.Run("an administrator who asks for "+tc.name, func(t *testing.T) {
			got, problems := ParseModes(rules.Enforce, tc.single)
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

func TestWhatTheModesNeed(t *testing.T) {
	for _, tc := range []struct {
		name  string
		modes map[rules.ID]rules.Mode
		graph graph.Options
		needs Needs
	}{
		{"nothing while all are off", Modes(rules.Off), graph.Options{}, Needs{}},
		{"everything while all are enforced", Modes(rules.Enforce), graph.Options{Ended: rules.Enforce, Unusable: rules.Enforce, Unowned: rules.Enforce}, Needs{true, true, true, true, true}},
		{"the list of revoked credentials to audit NA-REVOKE-1", map[rules.ID]rules.Mode{"NA-REVOKE-1": rules.Audit}, graph.Options{}, Needs{Revocations: true}},
		{"the nodes to audit NA-NODE-4", map[rules.ID]rules.Mode{"NA-NODE-4": rules.Audit}, graph.Options{}, Needs{Nodes: true}},
		{"the requests to audit NA-CSR-1", map[rules.ID]rules.Mode{"NA-CSR-1": rules.Audit}, graph.Options{}, Needs{CertificateSigningRequests: true}},
		{"the claims to audit NA-PVC-3", map[rules.ID]rules.Mode{"NA-PVC-3": rules.Audit}, graph.Options{Unowned: rules.Audit}, Needs{PersistentVolumeClaims: true}},
		{"the ends of pods to audit NA-POD-6", map[rules.ID]rules.Mode{"NA-POD-6": rules.Audit}, graph.Options{Ended: rules.Audit}, Needs{PodEnds: true}},
		{"only pods to audit NA-SA-3", map[rules.ID]rules.Mode{"NA-SA-3": rules.Audit}, graph.Options{Unusable: rules.Audit}, Needs{}},
		{"nothing for NA-ENDPOINTS-1", map[rules.ID]rules.Mode{"NA-ENDPOINTS-1": rules.Enforce}, graph.Options{}, Needs{}},
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
