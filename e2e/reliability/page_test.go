// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func exampleResults() []Result {
	day := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return []Result{
		{Place: 1, Name: "a component dead", Broken: strings.Repeat("This is broken. ", 12), Began: day,
			Lasted: 2 * time.Minute, Recovery: 1234 * time.Millisecond, Machine: "2 cores", Kubernetes: "v1",
			Calls: []Calls{{Name: "kubelet", Allowed: 3, Longest: 1500 * time.Millisecond},
				{Name: "attack", Attack: true, Denied: 2, Failed: 1}}},
		{Place: 2, Name: "a host dead", Broken: "All is broken.", NotRun: "it needs three hosts"},
		{Place: 3, Name: "a network cut", Broken: "A part is broken.", Began: day.AddDate(0, 0, 1), NotReady: []string{"n"},
			Calls:    []Calls{{Name: "kubelet", Allowed: 1, Denied: 2, Failed: 3}, {Name: "attack", Attack: true, Allowed: 1}},
			Problems: []string{"an attack was allowed"}, Machine: "2 cores", Kubernetes: "v1"},
	}
}

func TestPageHasEveryResult(t *testing.T) {
	page := Page(exampleResults())
	for _, want := range []string{
		"Run: 2026-01-02 to 2026-01-03, 2 cores, Kubernetes v1. Failed: 1.\n",
		"| a component dead | 2m0s | 1.2s | none | 0 of 3 |\n",
		"| a network cut | 0s | 0s | **1** | 1 of 1 |\n",
		"- **a host dead**: All is broken. Not run: it needs three hosts.\n",
		"Calls: kubelet 6 in up to 0s, 3 failed, 2 denied. **Failed**: an attack was allowed.\n",
		"kubelet 3 in up to 1.5s, all allowed.\n",
	} {
		if !strings.Contains(onOneLine(page), onOneLine(want)) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "| a host dead |") {
		t.Error("the table has a disruption that was not run")
	}
	for line := range strings.Lines(page) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > columns {
			t.Errorf("line too long: %s", line)
		}
	}
}

func TestPublishedPageIsMadeOfTheResults(t *testing.T) {
	results, err := ReadResults("../../docs/reports/" + Directory)
	if err != nil || len(results) == 0 {
		t.Fatalf("%d results: %v", len(results), err)
	}
	published, err := os.ReadFile("../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(published) != Page(results) {
		t.Error("docs/reliability.md is not the page of docs/reports/reliability: run make failure")
	}
}

// onOneLine undoes the wrapping of lines.
func onOneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestExpectedLossOfReadyIsNoProblem(t *testing.T) {
	r := Result{NotReady: []string{"n"}, Expected: true}
	if got := r.notReady(); got != "1, as expected" {
		t.Error(got)
	}
}

func TestResultsAreReadInTheOrderOfTheTable(t *testing.T) {
	directory := t.TempDir()
	all := exampleResults()
	for _, i := range []int{2, 0, 1} {
		if err := all[i].Write(directory); err != nil {
			t.Fatal(err)
		}
	}
	read, err := ReadResults(directory)
	if err != nil {
		t.Fatal(err)
	}
	if Page(read) != Page(all) {
		t.Errorf("another page after writing and reading:\n%s", Page(read))
	}
}

func TestKeepPrefersARealResult(t *testing.T) {
	directory := t.TempDir()
	all := exampleResults()
	if err := Keep(all, directory); err != nil {
		t.Fatal(err)
	}
	again := []Result{{Place: 1, Name: all[0].Name, NotRun: "unfit"}, {Place: 2, Name: all[1].Name, Lasted: time.Minute}}
	if err := Keep(again, directory); err != nil {
		t.Fatal(err)
	}
	kept, err := ReadResults(directory)
	if err != nil {
		t.Fatal(err)
	}
	if len(kept) != 3 || kept[0].NotRun != "" || kept[1].Lasted != time.Minute {
		t.Errorf("%+v", kept)
	}
}

func TestMemory(t *testing.T) {
	if got := memory("MemTotal:       24689764 kB\nMemFree: 1 kB\n"); got != "24 GiB" {
		t.Errorf("%q", got)
	}
	if got := memory("MemFree: 1 kB\n"); got != "" {
		t.Errorf("%q", got)
	}
}
