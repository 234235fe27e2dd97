// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	api "github.com/bulkhead-k8s/bulkhead/components/apis/nodeisolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/isolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/rulebook"
)

// docs is the folder of the reports of this repository.
var docs = filepath.Join("..", "..", "docs")

// makeAgain says how to repair a report that is out of date.
const makeAgain = "run the suites and make reports: docs/reports.md"

// committed reads a report of this repository.
func committed(t *testing.T, profile string) *api.NodeIsolationReport {
	t.Helper()
	report, err := read(docs, profile)
	if err != nil {
		t.Fatalf("cannot read the report of %s: %v; %s", profile, err, makeAgain)
	}
	return report
}

// TestReportsHaveAllRules compares the reports in docs with the rules of this version.
func TestReportsHaveAllRules(t *testing.T) {
	want := map[string]string{}
	for _, rule := range rulebook.All() {
		want[string(rule.ID)] = rule.Description
	}
	for _, profile := range []string{"in-tree", "hardened"} {
		t.Run(profile, func(t *testing.T) {
			got := map[string]string{}
			for _, rule := range committed(t, profile).Rules {
				got[rule.ID] = rule.Description
				if _, ok := want[rule.ID]; !ok {
					t.Errorf("rule %s of the report does not exist", rule.ID)
				}
			}
			for _, id := range slices.Sorted(maps.Keys(want)) {
				switch description, ok := got[id]; {
				case !ok:
					t.Errorf("the report does not have rule %s", id)
				case description != want[id]:
					t.Errorf("the report describes rule %s as\n%s\nand the rulebook as\n%s", id, description, want[id])
				}
			}
			if t.Failed() {
				t.Log(makeAgain)
			}
		})
	}
}

// TestHardenedProvesEachRule: in hardened, the suites show a denied and an allowed request of each rule.
func TestHardenedProvesEachRule(t *testing.T) {
	report := committed(t, "hardened")
	for _, rule := range report.Rules {
		if rule.Result == api.NotProved {
			t.Errorf("%s is not proved: %s", rule.ID, rule.Reason)
		}
	}
	if n := report.Summary.Rules.NotProved; n != 0 {
		t.Errorf("the summary counts %d rules that are not proved; %s", n, makeAgain)
	}
	for _, attack := range report.Attacks {
		if attack.Verdict == api.Succeeded || attack.Verdict == api.Unclear {
			t.Errorf("%s: %s; %s", attack.Name, attack.Verdict, makeAgain)
		}
	}
}

// TestPagesAreOfTheReports compares the pages in docs with what the reports in docs give today.
func TestPagesAreOfTheReports(t *testing.T) {
	want, err := pages(isolationreport.Compare(committed(t, "in-tree"), committed(t, "hardened")))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got, err := os.ReadFile(filepath.Join(docs, name)); err != nil || !bytes.Equal(got, want[name]) {
			t.Errorf("docs/%s is not the page of the reports (%v); run: go run ./scripts/reports -pages", name, err)
		}
	}
}
