// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"cmp"
	"context"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// twins are two requests that differ in one field. An enforced optional rule refuses one of them
// and does not affect the other. Without that rule, the rule of the class allows both. The name
// completes the sentence "a node that asks for …".
type twins struct {
	name    string
	refused request
	allowed request
	by      rules.Rule
	text    string
	bare    string
	// bareTwin is the reason that allows the twin. If it is empty, bare is used.
	bareTwin string
	// reads are the expected live reads before the refusal.
	reads []string
}

// reader is a [Refresher] that records its calls.
type reader struct {
	reads []string
	// why is the result of each read.
	why string
	// finds is called for each read.
	finds func(read string)
	ctx   context.Context
}

func (r *reader) Refresh(ctx context.Context, node string, kind graph.Kind, namespace, name string) string {
	return r.read(ctx, node+" "+kind.String()+" "+namespace+"/"+name)
}

func (r *reader) RefreshNode(ctx context.Context, node string) string {
	return r.read(ctx, "node "+node)
}

func (r *reader) read(ctx context.Context, what string) string {
	r.reads, r.ctx = append(r.reads, what), ctx
	if r.finds != nil {
		r.finds(what)
	}
	return r.why
}

// outcome is everything that a caller can observe of one decision.
type outcome struct {
	Decision authorizer.Decision
	Reason   string
	Findings []rules.Finding
	Reads    []string
}

// decideIn decides the request with the optional rules in these modes.
func decideIn(t *testing.T, mode Mode, modes map[rules.ID]rules.Mode, a *request, r *reader) outcome {
	t.Helper()
	return decideOver(t, relations{GraphOptions(modes, false)}, mode, modes, a, r)
}

func decideOver(t *testing.T, view Relations, mode Mode, modes map[rules.ID]rules.Mode, a *request, r *reader) outcome {
	t.Helper()
	z := New(Config{Mode: mode, Features: DefaultFeatures(), Relations: view, Refresher: r, Modes: modes, Unready: never,
		Revoked: stolenIDs})
	got, findings := ask(t, z, a)
	return outcome{got.Decision, got.Reason, findings, r.reads}
}

// runTwins checks both requests with the rule in each mode, alone and together with all other
// rules.
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

// every sets the mode for each optional rule, including rules that are enforced only by name.
func every(mode rules.Mode) map[rules.ID]rules.Mode {
	modes := map[rules.ID]rules.Mode{}
	for _, r := range Rules {
		if r.Optional {
			modes[r.ID] = mode
		}
	}
	return modes
}

// besides sets the mode for every rule, except for rules that would refuse both twins.
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
	for refusals, decision := range map[Mode]authorizer.Decision{Compat: authorizer.DecisionNoOpinion,
		Strict: authorizer.DecisionDeny} {
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

// allTwins are the twins of all tables.
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
