// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func checkOutcome(t *testing.T, want, got outcome) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// lagging is a view that knows one relation and the Node only after a live read.
type lagging struct {
	is graph.Relation
	// then is the relation after each live read, by the name of the read.
	then map[string]graph.Relation
}

func (l *lagging) Relation(string, graph.Kind, string, string) graph.Relation { return l.is }
func (l *lagging) Registered(string) bool                                     { return l.is.Registered }
func (l *lagging) reader(why string) *reader {
	return &reader{why: why, finds: func(read string) {
		if is, ok := l.then[read]; ok {
			l.is = is
		}
	}}
}

const (
	secretRead = "me secret ns/x"
	nodeIsRead = "node me"
)

var (
	nothing = graph.Relation{}
	known   = graph.Relation{Registered: true}
	related = graph.Relation{Registered: true, Related: true}
	// relatedOnly is related to a node that has no Node object.
	relatedOnly = graph.Relation{Related: true}
	ended       = graph.Relation{Registered: true, Condition: graph.Ended}
	endedLater  = graph.Relation{Registered: true, Related: true, Condition: graph.Ended}
)

func TestLiveLookupsBeforeADenial(t *testing.T) {
	const noNode = "node 'me' has no Node object [NA-NODE-4]"
	nodeOnly := func(mode rules.Mode) map[rules.ID]rules.Mode { return map[rules.ID]rules.Mode{"NA-NODE-4": mode} }
	allow, deny := authorizer.DecisionAllow, authorizer.DecisionDeny
	asks := complete(request{Verb: "get", Resource: "secrets", Namespace: "ns", Name: "x"})
	found := func(id rules.ID) []rules.Finding { return []rules.Finding{{Rule: id}} }
	type after = map[string]graph.Relation
	for _, tc := range []struct {
		name  string
		modes map[rules.ID]rules.Mode
		view  lagging
		want  outcome
	}{
		{"known relation: no live lookup", Modes(rules.Enforce), lagging{related, nil},
			outcome{allow, "[NA-SECRET-1]", nil, nil}},
		{"all rules off, relation found by a live lookup: allowed", nil, lagging{nothing, after{secretRead: relatedOnly}},
			outcome{allow, "[NA-SECRET-1]", nil, []string{secretRead}}},
		{"all rules enforced, relation found by a live lookup: allowed", Modes(rules.Enforce),
			lagging{known, after{secretRead: related}}, outcome{allow, "[NA-SECRET-1]", nil, []string{secretRead}}},
		{"missing object: denied without details", nil, lagging{nothing, nil},
			outcome{deny, unrelated + "[NA-SECRET-1]", nil, []string{secretRead}}},
		{"condition that a live lookup clears: allowed", Modes(rules.Enforce), lagging{ended, after{secretRead: related}},
			outcome{allow, "[NA-SECRET-1]", nil, []string{secretRead}}},
		{"condition that a live lookup clears: no finding",
			Modes(rules.Audit), lagging{endedLater, after{secretRead: related}},
			outcome{allow, "[NA-SECRET-1]", nil, []string{secretRead}}},
		{"condition that a live lookup confirms: finding", Modes(rules.Audit), lagging{endedLater, nil},
			outcome{allow, "[NA-SECRET-1]", found("NA-POD-6"), []string{secretRead}}},
		{"relation that a live lookup removes: denied", Modes(rules.Audit),
			lagging{endedLater, after{secretRead: known}},
			outcome{deny, unrelated + "[NA-SECRET-1]", nil, []string{secretRead}}},
		{"unregistered node, no relation: Node rule first", Modes(rules.Enforce), lagging{nothing, nil},
			outcome{deny, noNode, nil, []string{nodeIsRead}}},
		{"unregistered node, condition: Node rule first",
			Modes(rules.Enforce), lagging{graph.Relation{Condition: graph.Ended}, nil},
			outcome{deny, noNode, nil, []string{nodeIsRead}}},
		{"unregistered node in audit, condition: Node finding first", Modes(rules.Audit),
			lagging{graph.Relation{Related: true, Condition: graph.Ended}, nil},
			outcome{allow, "[NA-SECRET-1]", found("NA-NODE-4"), []string{nodeIsRead}}},
		{"enforced condition before audited Node rule", nodeOnly(rules.Audit),
			lagging{graph.Relation{Condition: graph.Ended}, nil},
			outcome{deny, "node 'me' is related to this object only through pods that have ended [NA-POD-6]", nil,
				[]string{secretRead}}},
		{"unregistered node, relation: denied", nodeOnly(rules.Enforce), lagging{relatedOnly, nil},
			outcome{deny, noNode, nil, []string{nodeIsRead}}},
		{"Node found by a live lookup, relation known: allowed", nodeOnly(rules.Enforce),
			lagging{relatedOnly, after{nodeIsRead: related}}, outcome{allow, "[NA-SECRET-1]", nil, []string{nodeIsRead}}},
		{"Node found by a live lookup in audit: no finding",
			nodeOnly(rules.Audit), lagging{relatedOnly, after{nodeIsRead: related}},
			outcome{allow, "[NA-SECRET-1]", nil, []string{nodeIsRead}}},
		{"Node and relation found by live lookups", Modes(rules.Enforce),
			lagging{nothing, after{nodeIsRead: known, secretRead: related}},
			outcome{allow, "[NA-SECRET-1]", nil, []string{nodeIsRead, secretRead}}},
		{"Node found by a live lookup, no relation: denied", Modes(rules.Enforce), lagging{nothing, after{nodeIsRead: known}},
			outcome{deny, unrelated + "[NA-SECRET-1]", nil, []string{nodeIsRead, secretRead}}},
		{"audit looks up the Node only for allowed requests", nodeOnly(rules.Audit), lagging{nothing, nil},
			outcome{deny, unrelated + "[NA-SECRET-1]", nil, []string{secretRead}}},
		{"audit looks up the Node after the relation is found",
			nodeOnly(rules.Audit), lagging{nothing, after{secretRead: relatedOnly}},
			outcome{allow, "[NA-SECRET-1]", found("NA-NODE-4"), []string{secretRead, nodeIsRead}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			checkOutcome(t, tc.want, decideOver(t, &tc.view, Strict, tc.modes, asks, tc.view.reader("")))
		})
	}
}

// Without a Refresher, the authorizer decides from the view alone.
func TestWithoutARefresher(t *testing.T) {
	for _, a := range everyRequest() {
		modes := Modes(rules.Enforce)
		want := decideIn(t, Strict, modes, a, &reader{})
		z := New(Config{Mode: Strict, Features: DefaultFeatures(), Relations: relations{GraphOptions(modes, false)},
			Modes: modes, Unready: never, Revoked: stolenIDs})
		decision, reason, _ := z.Authorize(t.Context(), a)
		if decision != want.Decision || reason != want.Reason {
			t.Errorf("%+v: %v %q, want %+v", a, decision, reason, want)
		}
	}
}

// TestFailedLiveLookupIsReported checks every refusal that follows a live read: its message contains the
// cause of the failure.
func TestFailedLiveLookupIsReported(t *testing.T) {
	said := 0
	for _, a := range everyRequest() {
		want := decideIn(t, Strict, Modes(rules.Enforce), a, &reader{})
		got := decideIn(t, Strict, Modes(rules.Enforce), a, &reader{why: "the budget is spent"})
		if len(want.Reads) > 0 {
			id, _ := rules.FromReason(want.Reason)
			want.Reason = rules.Rule{ID: id}.Reason(want.Reason[:len(want.Reason)-len(id)-len(" []")] + " (the budget is spent)")
			said++
		}
		checkOutcome(t, want, got)
	}
	if said == 0 {
		t.Error("no refusal came after a read")
	}
}

// A live read must end with its request.
func TestReadsHaveTheContextOfTheRequest(t *testing.T) {
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, "this")
	for _, a := range []*request{
		complete(request{Verb: "get", Resource: "secrets", Namespace: "ns", Name: "other"}),
		complete(request{Verb: "create", Resource: "pods", Namespace: "ns", User: nodeNamed("stranger")}),
		complete(request{Verb: "create", Resource: "events", Namespace: "ns", User: nodeNamed("stranger")}),
		complete(request{Verb: "get", Resource: "secrets", Namespace: "ns", Name: "my-secret", User: nodeNamed("stranger")}),
		complete(signing("get", "other")),
	} {
		r := &reader{}
		z := New(Config{Features: DefaultFeatures(), Relations: relations{}, Refresher: r, Modes: Modes(rules.Enforce),
			Unready: never})
		_, _, _ = z.Authorize(ctx, a)
		if r.ctx == nil || r.ctx.Value(key{}) != "this" {
			t.Errorf("%+v is read live with %v", a, r.ctx)
		}
	}
}

// The API server waits 3 s, so the durations of two slow reads must not add up.
func TestTwoReadsShareOneDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		view := lagging{nothing, map[string]graph.Relation{nodeIsRead: known}}
		r := view.reader("")
		shows := r.finds
		r.finds = func(read string) {
			select {
			case <-r.ctx.Done():
			case <-time.After(time.Second):
			}
			shows(read)
		}
		begin := time.Now()
		asks := complete(request{Verb: "get", Resource: "secrets", Namespace: "ns", Name: "x"})
		got := decideOver(t, &view, Strict, Modes(rules.Enforce), asks, r)
		if took := time.Since(begin); took != refreshTimeout || len(got.Reads) != 2 {
			t.Errorf("after %v: %+v", took, got)
		}
	})
}

// While the view must not be used, there are no live reads and no findings.
func TestUnreadyIsNeitherReadNorAudited(t *testing.T) {
	for _, a := range everyRequest() {
		r := &reader{}
		z := New(Config{Mode: Strict, Features: DefaultFeatures(), Relations: relations{}, Refresher: r,
			Modes: Modes(rules.Audit)})
		if d := z.Decide(t.Context(), a); len(d.Findings) > 0 {
			t.Errorf("%+v is reported: %v", a, d.Findings)
		}
		if len(r.reads) > 0 {
			t.Errorf("%+v is read live", a)
		}
	}
}
