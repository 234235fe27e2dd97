// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package isolationreport

import (
	"testing"

	api "github.com/bulkhead-k8s/bulkhead/components/apis/nodeisolationreport"
)

func TestVerdictOfAttack(t *testing.T) {
	attack := func(specs ...Spec) []Spec {
		for i := range specs {
			specs[i].Attack, specs[i].Container = "T7", []string{"mirror pods"}
		}
		return specs
	}
	for _, tc := range []struct {
		name  string
		specs []Spec
		want  api.Verdict
	}{
		{"denied, and the twin allowed", attack(denies("NA-A-1"), allows("NA-A-1")), api.Stopped},
		{"allowed, as expected there", attack(whileOff("NA-X-1", "NA-A-1"), allows("NA-A-1")), api.Succeeded},
		{"unconfirmed, and the twin allowed",
			attack(answering(denies("NA-A-1"), Answer{Allowed: true}), allows("NA-A-1")), api.Unclear},
		{"one step allowed, the next denied, and the next allowed", attack(answering(denies("NA-A-1"), Answer{Allowed: true},
			Answer{Code: 403}, Answer{Allowed: true}), allows("NA-A-1")), api.Stopped},
		{"a step failed", attack(denies("NA-A-1"), in(Failed, "m", allows("NA-A-1"))), api.Unclear},
		{"a step met a time limit", attack(denies("NA-A-1"), in(TimedOut, "m", allows("NA-A-1"))), api.Unclear},
		{"met a time limit, but was allowed",
			attack(answering(in(TimedOut, "m", denies("NA-A-1")), Answer{Allowed: true})), api.Succeeded},
		{"all skipped", attack(in(Skipped, "m", denies("NA-A-1"))), api.NotTried},
	} {
		t.Run(tc.name, func(t *testing.T) {
			report, err := Build(table, []Results{run("hardened", tc.specs...)})
			if err != nil || len(report.Attacks) != 1 || report.Attacks[0].Verdict != tc.want {
				t.Errorf("got %+v, %v", report.Attacks, err)
			}
		})
	}
}

func TestCounterpartsAreNoAttack(t *testing.T) {
	twin := allows("NA-A-1")
	twin.Attack, twin.Container = "T7", []string{"other pods"}
	report, err := Build(table, []Results{run("hardened", twin)})
	if err != nil || len(report.Attacks) != 0 || report.Summary.Attacks.Total() != 0 {
		t.Errorf("got %+v, %v", report.Attacks, err)
	}
}

func TestVerdict(t *testing.T) {
	for _, tc := range []struct {
		name  string
		specs []Spec
		want  string
	}{
		{"all hold", []Spec{allows("NA-A-1"), denies("NA-A-1"), allows("NA-X-1"), denies("NA-X-1")},
			"Nodes are isolated in every way that was tested. 2 of the 2 rules that apply hold."},
		{"one is not in force", []Spec{allows("NA-A-1"), denies("NA-A-1"), allows("NA-X-1"), whileOff("NA-X-1", "NA-A-1")},
			"Nodes are not fully isolated. 1 of the 2 rules that apply hold, 1 does not hold."},
		{"one is not proved", []Spec{allows("NA-A-1"), denies("NA-A-1"), allows("NA-X-1")},
			"Nothing that was tested contradicts the isolation of nodes, but not all of it is proved. 1 of the 2 rules that " +
				"apply hold, 1 is not proved."},
		{"nothing can be tested", []Spec{in(Skipped, "m", allows("NA-A-1")), in(Skipped, "m", allows("NA-X-1"))},
			"No rule can be tested on this cluster, so the report shows nothing about it."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			report, err := Build(table, []Results{run("hardened", tc.specs...)})
			if err != nil || report.Summary.Verdict != tc.want {
				t.Errorf("got %q, %v", report.Summary.Verdict, err)
			}
		})
	}
}
