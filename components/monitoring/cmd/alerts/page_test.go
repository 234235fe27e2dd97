// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPageIsOfTheResults makes docs/alerts.md again from the results of the last run.
func TestPageIsOfTheResults(t *testing.T) {
	results, err := readRecorded(root)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(root, "docs", "alerts.md"))
	if err != nil {
		t.Fatal(err)
	}
	if got := results.page(allPhases(namedCluster()).all()); got != string(want) {
		t.Errorf("docs/alerts.md differs from the page of %s: run go -C components/monitoring run ./cmd/alerts -rewrite "+
			"-write=../../docs/alerts.md\n%s", resultsPath, got)
	}
}

// TestResultsAreOfThisPlan: results are old if the plan has another alert.
func TestResultsAreOfThisPlan(t *testing.T) {
	results, err := readRecorded(root)
	if err != nil {
		t.Fatal(err)
	}
	var rows, want []string
	for _, row := range results.Rows {
		rows = append(rows, row.Alert)
		if row.Fired == 0 || row.Resolved == 0 {
			t.Errorf("the test of %s failed", row.Alert)
		}
	}
	for _, b := range allPhases(namedCluster()).all() {
		want = append(want, b.names()...)
	}
	slices.Sort(rows)
	slices.Sort(want)
	if !slices.Equal(rows, want) {
		t.Errorf("the results have\n%s\nand the plan\n%s\nrun make alerts", strings.Join(rows, "\n"),
			strings.Join(want, "\n"))
	}
}

func TestLaterRunOfSomeAlerts(t *testing.T) {
	whole := &recorded{Date: "2026-01-01", Kubernetes: "v1", Rows: []recordedRow{{Alert: "A (j)", Fired: 1, Resolved: 2},
		{Alert: "C", Fired: 3, Resolved: 4}}}
	later := &recorded{Date: "2026-01-02", Kubernetes: "v1", Rows: []recordedRow{{Alert: "A (j)", Fired: 5, Resolved: 6},
		{Alert: "B", Fired: 7, Resolved: 8, Again: true}}}
	if whole.laterRuns() != "" {
		t.Errorf("without a later run: %q", whole.laterRuns())
	}
	if err := whole.replace(later); err != nil {
		t.Fatal(err)
	}
	if want := " A and B are newer: their times are of a run of their own on 2026-01-02."; whole.laterRuns() != want {
		t.Errorf("got %q, want %q", whole.laterRuns(), want)
	}
	want := "| A (j) | 5 s | 6 s |\n| B | 7 s at the second attempt | 8 s |\n| C | 3 s | 4 s |\n"
	if page := whole.page(nil); !strings.Contains(page, want) {
		t.Errorf("the page has no %q:\n%s", want, page)
	}
	if err := whole.replace(&recorded{Kubernetes: "v2"}); err == nil || !strings.Contains(err.Error(), "cannot add") {
		t.Errorf("another version: %v", err)
	}
}

// TestWritePage: a run of some alerts replaces their rows in the file and on the page.
func TestWritePage(t *testing.T) {
	plan := phases{{{{causes: one("A"), broken: "x.", repaired: "y."}, {causes: one("B"), broken: "x.", repaired: "y."}}}}
	o := &options{root: t.TempDir(), only: "B"}
	o.page = filepath.Join(o.root, "alerts.md")
	some := &recorded{Date: "2026-01-02", Rows: []recordedRow{{Alert: "B", Fired: 7, Resolved: 8}}}
	if err := plan.writePage(some, o); err == nil || !strings.Contains(err.Error(), "run make alerts") {
		t.Errorf("without results of a whole run: %v", err)
	}
	all := &recorded{Date: "2026-01-01", Rows: []recordedRow{{Alert: "A", Fired: 1, Resolved: 2}, {Alert: "B"}}}
	if err := plan.writePage(all, &options{root: o.root, page: o.page}); err != nil {
		t.Fatal(err)
	}
	if err := plan.writePage(some, o); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(o.page)
	if err != nil || !strings.Contains(string(page), "| A | 1 s | 2 s |\n| B | 7 s | 8 s |\n") ||
		!strings.Contains(string(page), "B is newer") {
		t.Errorf("%v\n%s", err, page)
	}
	if again, err := readRecorded(o.root); err != nil || again.page(plan.all()) != string(page) {
		t.Errorf("the page differs from that of the stored results: %v", err)
	}
}
