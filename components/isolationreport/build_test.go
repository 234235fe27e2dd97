// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package isolationreport

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/bulkhead-k8s/bulkhead/components/apis/nodeisolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	ruleA = rules.Rule{ID: "NA-A-1", Description: "Keeps A.", Source: "a.go"}
	ruleX = rules.Rule{ID: "NA-X-1", Description: "Keeps X.", Source: "Bulkhead", Extension: true, Optional: true}
	table = []Group{{"NodeAuthorizer", []rules.Rule{ruleA, ruleX}}}
)

func allows(id rules.ID) Spec {
	return Spec{Text: "allows " + string(id), Rules: []rules.ID{id}, Want: Allow, By: id, Expected: Allow, State: Passed}
}

// allowedBy is the spec of a request that id does not deny and by allows.
func allowedBy(id, by rules.ID) Spec {
	s := allows(id)
	s.By = by
	return s
}

func denies(id rules.ID) Spec {
	return Spec{Text: "denies " + string(id), Rules: []rules.ID{id}, Want: Deny, By: id, Expected: Deny, State: Passed}
}

// whileOff is the spec of a rule that is not in force. off allows the request.
func whileOff(id, off rules.ID) Spec {
	s := denies(id)
	s.Off, s.Expected = off, Allow
	return s
}

func in(state State, message string, s Spec) Spec {
	s.State, s.Message = state, message
	return s
}

func answering(s Spec, answers ...Answer) Spec {
	s.Answers = answers
	return s
}

func run(profile string, specs ...Spec) Results {
	return Results{
		Suite: "nodeauthorizer", Profile: profile, BulkheadVersion: "v1", KubernetesVersion: "v1.37.1", Nodes: 2,
		Platform: "linux", Started: time.Unix(1000, 0), Duration: time.Minute, Specs: specs,
	}
}

func ruleOf(t *testing.T, id string, results ...Results) api.Rule {
	t.Helper()
	report, err := Build(table, results)
	if err != nil {
		t.Fatal(err)
	}
	return report.Rules[slices.IndexFunc(report.Rules, func(r api.Rule) bool { return r.ID == id })]
}

func TestResultOfRule(t *testing.T) {
	other := allows("NA-X-1") // so that there are results
	for _, tc := range []struct {
		name, rule, profile string
		specs               []Spec
		want                api.Result
		reason              string
	}{
		{"one denied and one allowed: held", "NA-A-1", "hardened", []Spec{allows("NA-A-1"), denies("NA-A-1")}, api.Held, ""},
		{"only allowed: not proved", "NA-A-1", "hardened", []Spec{allows("NA-A-1")}, api.NotProved,
			"no spec showed a denied request"},
		{"only denied: not proved", "NA-A-1", "hardened", []Spec{denies("NA-A-1")}, api.NotProved,
			"no spec showed an allowed request"},
		{"one of three failed: not held", "NA-A-1", "hardened",
			[]Spec{allows("NA-A-1"), denies("NA-A-1"), in(Failed, "got 200", Spec{Text: "x", Rules: []rules.ID{"NA-A-1"}})},
			api.NotHeld, "1 of 3 specs failed."},
		{"all skipped: not applicable, with the reasons", "NA-A-1", "hardened",
			[]Spec{in(Skipped, "no worker", allows("NA-A-1")), in(Skipped, "no host", denies("NA-A-1"))}, api.NotApplicable,
			"Skipped: no host; no worker"},
		{"denial skipped: not proved", "NA-A-1", "hardened",
			[]Spec{allows("NA-A-1"), in(Skipped, "no host", denies("NA-A-1"))},
			api.NotProved, "1 of 2 specs were skipped: no host"},
		{"a skipped spec beside proof: held", "NA-A-1", "hardened",
			[]Spec{allows("NA-A-1"), denies("NA-A-1"), in(Skipped, "no host", Spec{Text: "x", Rules: []rules.ID{"NA-A-1"}})},
			api.Held, ""},
		{"passed because the cluster allows it: not held", "NA-X-1", "in-tree",
			[]Spec{allows("NA-X-1"), whileOff("NA-X-1", "NA-A-1")}, api.NotHeld, "it is not in force here"},
		{"the same request denied: held", "NA-X-1", "hardened", []Spec{allows("NA-X-1"), denies("NA-X-1")}, api.Held, ""},
		{"one allowed, one denied: not held", "NA-X-1", "in-tree",
			[]Spec{allows("NA-X-1"), whileOff("NA-X-1", "NA-A-1"), denies("NA-X-1")}, api.NotHeld, "1 of 2 kinds of requests"},
		{"the allowance counts for the rule that allows", "NA-A-1", "in-tree",
			[]Spec{denies("NA-A-1"), whileOff("NA-X-1", "NA-A-1")}, api.Held, ""},
		{"not denied by another rule: the allowance counts for the rule that allows", "NA-A-1", "hardened",
			[]Spec{denies("NA-A-1"), allowedBy("NA-X-1", "NA-A-1")}, api.Held, ""},
		{"left to the authorizers behind: no rule allows", "NA-A-1", "hardened",
			[]Spec{denies("NA-A-1"), allowedBy("NA-X-1", Behind)}, api.NotProved, "no spec showed an allowed request"},
		{"no spec: not proved", "NA-A-1", "hardened", []Spec{other}, api.NotProved, "No spec"},
		{"no spec of an extension on in-tree: not applicable", "NA-X-1", "in-tree", []Spec{allows("NA-A-1")},
			api.NotApplicable, "Kubernetes does not have this rule"},
		{"no spec of an extension on hardened: not proved", "NA-X-1", "hardened", []Spec{allows("NA-A-1")},
			api.NotProved, "No spec"},
		{"a recorded denial: held", "NA-A-1", "hardened",
			[]Spec{allows("NA-A-1"), answering(denies("NA-A-1"), Answer{Allowed: true}, Answer{Code: 403})}, api.Held, ""},
		{"passed, but all answers are allowances: not proved", "NA-A-1", "hardened",
			[]Spec{allows("NA-A-1"), answering(denies("NA-A-1"), Answer{Allowed: true, Code: 200})}, api.NotProved,
			"recorded only allowed requests"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := ruleOf(t, tc.rule, run(tc.profile, tc.specs...))
			if got.Result != tc.want || !strings.Contains(got.Reason, tc.reason) || (got.Reason == "") != (tc.reason == "") {
				t.Errorf("got %s, %q; want %s, %q", got.Result, got.Reason, tc.want, tc.reason)
			}
		})
	}
}

func TestEvidence(t *testing.T) {
	denied := answering(denies("NA-A-1"), Answer{User: "system:node:n", Request: "get secrets", Code: 403,
		Message: "no [NA-A-1]"})
	denied.Container, denied.Duration = []string{"secrets", "of another node"}, 12345*time.Microsecond
	got := ruleOf(t, "NA-A-1", run("hardened", allows("NA-A-1"), denied)).Evidence
	want := api.Evidence{Suite: "nodeauthorizer", Spec: "secrets of another node denies NA-A-1",
		Expected: "denied by NA-A-1", Outcome: api.Denied,
		Request: "get secrets as system:node:n", Happened: "denied with status 403: no [NA-A-1]"}
	want.Duration.Duration = 12 * time.Millisecond
	if diff := cmp.Diff(want, got[0]); diff != "" || len(got) != 2 {
		t.Errorf("%d, (-want +got)\n%s", len(got), diff)
	}
	off := ruleOf(t, "NA-X-1", run("in-tree", whileOff("NA-X-1", "NA-A-1"))).Evidence[0]
	if want := "allowed by NA-A-1, because NA-X-1 is not in force"; off.Expected != want || off.Outcome != api.Allowed {
		t.Errorf("got %+v", off)
	}
}

// TestEvidenceOfChain: each step of a chain has its own answer, and other rules deny the later steps.
func TestEvidenceOfChain(t *testing.T) {
	chain := answering(denies("NA-A-1"), Answer{Request: "first", Allowed: true, Code: 200},
		Answer{Request: "second", Code: 403, Message: "no [NA-A-1]"},
		Answer{Request: "third", Code: 403, Message: "no [NA-X-1]"})
	other := answering(denies("NA-A-1"), Answer{Request: "first", Code: 403, Message: "no [NA-Z-1]"},
		Answer{Request: "second", Code: 403, Message: "no"}, Answer{Request: "third", Allowed: true, Code: 200})
	for _, spec := range []Spec{chain, other} {
		got := ruleOf(t, "NA-A-1", run("hardened", spec)).Evidence[0]
		if got.Outcome != api.Denied || got.Request != "second as" {
			t.Errorf("got %+v", got)
		}
	}
}

// TestEvidenceOfOtherRule: an answer can name another rule than the one that the spec is about.
func TestEvidenceOfOtherRule(t *testing.T) {
	for _, tc := range []struct {
		spec Spec
		want string
	}{
		{denies("NA-A-1"), "denied, and the answer names NA-X-1"},
		{whileOff("NA-A-1", Behind), "allowed by behind, because NA-A-1 is not in force"},
	} {
		tc.spec.By = "NA-X-1"
		if got := ruleOf(t, "NA-A-1", run("hardened", tc.spec)).Evidence[0].Expected; got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}

// TestOrderDoesNotMatter: parallel processes report specs in any order.
func TestOrderDoesNotMatter(t *testing.T) {
	a, b := denies("NA-X-1"), denies("NA-A-1")
	a.Attack, b.Attack = "T2", "T10"
	texts := map[string]bool{}
	for _, results := range [][]Results{{run("hardened", a, b)}, {run("hardened", b, a)}} {
		report, err := Build(table, results)
		if err != nil {
			t.Fatal(err)
		}
		if got := report.Attacks[0].ID; got != "T2" {
			t.Errorf("the first attack is %s", got)
		}
		text, err := report.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		texts[string(text)] = true
	}
	if len(texts) != 1 {
		t.Error("the same results gave two reports")
	}
}

func TestLaterRunCounts(t *testing.T) {
	early := run("hardened", allows("NA-A-1"), in(Failed, "slow", denies("NA-A-1")))
	late := run("hardened", denies("NA-A-1"))
	late.Started = early.Started.Add(time.Hour)
	for _, order := range [][]Results{{early, late}, {late, early}} {
		if got := ruleOf(t, "NA-A-1", order...); got.Result != api.Held {
			t.Errorf("got %s: %s", got.Result, got.Reason)
		}
	}
	early.Started = late.Started.Add(time.Hour)
	if got := ruleOf(t, "NA-A-1", early, late); got.Result != api.NotHeld {
		t.Errorf("failed later: got %s: %s", got.Result, got.Reason)
	}
}

func TestResultsThatDoNotFit(t *testing.T) {
	other := run("hardened", allows("NA-A-1"))
	for _, tc := range []struct {
		name   string
		change func(*Results)
		want   string
	}{
		{"another profile", func(r *Results) { r.Profile = "in-tree" }, "different profiles"},
		{"another Bulkhead", func(r *Results) { r.BulkheadVersion = "v2" }, "different versions of Bulkhead"},
		{"another Kubernetes", func(r *Results) { r.KubernetesVersion = "v1.36.0" }, "different versions of Kubernetes"},
		{"unknown rule", func(r *Results) { r.Specs = []Spec{allows("NA-B-1")} }, `names the rule "NA-B-1"`},
		{"the same", func(*Results) {}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			changed := run("hardened", allows("NA-A-1"))
			tc.change(&changed)
			_, err := Build(table, []Results{other, changed})
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// TestLatest: the entries of a table with one name stay apart, also if only one of them ran again.
func TestLatest(t *testing.T) {
	const name = "another one above the limit: denied"
	of := func(line int, state State) Spec { return Spec{Text: name, Line: line, State: state} }
	got := latest([]Results{
		{Suite: "s", Specs: []Spec{of(1, Passed), of(2, Failed)}},
		{Suite: "s", Specs: []Spec{of(2, Passed)}},
	})
	if len(got) != 2 || got[0].Line != 1 || got[1].Line != 2 || got[1].State != Passed {
		t.Errorf("got %+v", got)
	}
}

// TestGroupsHaveEveryRuleOnce: an ID in two groups would count twice.
func TestGroupsHaveEveryRuleOnce(t *testing.T) {
	seen := map[rules.ID]bool{}
	for _, group := range Groups() {
		for _, rule := range group.Rules {
			if seen[rule.ID] {
				t.Errorf("%s is in two groups", rule.ID)
			}
			seen[rule.ID] = true
		}
	}
	if len(seen) < 200 {
		t.Errorf("only %d rules", len(seen))
	}
}
