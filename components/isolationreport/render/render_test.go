// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	api "github.com/bulkhead-k8s/bulkhead/components/apis/nodeisolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/isolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/isolationreport/fixture"
)

func build(t *testing.T, profile string) *api.NodeIsolationReport {
	t.Helper()
	report, err := isolationreport.Build(isolationreport.Groups(), fixture.Results(profile))
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func pageOf(t *testing.T, report *api.NodeIsolationReport) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, report); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPageHasEveryRuleAndAttack(t *testing.T) {
	report := build(t, "hardened")
	page := pageOf(t, report)
	for _, rule := range report.Rules {
		if strings.Count(page, `<div class="inside" id="`+rule.ID+`">`) != 1 {
			t.Errorf("%s has no place in the page", rule.ID)
		}
	}
	if n := strings.Count(page, `<li class="panel story">`); n != len(report.Attacks) {
		t.Errorf("%d attacks of %d", n, len(report.Attacks))
	}
	if page != pageOf(t, build(t, "hardened")) {
		t.Error("the same results gave two pages")
	}
}

// TestPageLoadsNothing: a page is one file, and a name cannot add an element.
func TestPageLoadsNothing(t *testing.T) {
	page := pageOf(t, build(t, "hardened"))
	for _, bad := range []string{"http://", "https://", "<img", "@import", "url(", "<iframe",
		" onerror=alert(1)>", "style=\""} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if n := strings.Count(page, "<script"); n != 1 {
		t.Errorf("%d scripts", n)
	}
}

func TestLargePageIsShortened(t *testing.T) {
	report := build(t, "hardened")
	long := strings.Repeat("very long ", 40)
	for i := range report.Rules {
		for len(report.Rules[i].Evidence) < 60 {
			report.Rules[i].Evidence = append(report.Rules[i].Evidence, api.Evidence{Suite: "s", Spec: long, Expected: "denied",
				Outcome: api.Denied, Request: long, Happened: long})
		}
	}
	page := pageOf(t, report)
	if len(page) > MaxPage || !strings.Contains(page, "more specs.") {
		t.Errorf("%d bytes; it says what it does not show: %v", len(page), strings.Contains(page, "more specs."))
	}
	if !strings.Contains(page, "NS-TOKEN-3") {
		t.Error("the last rule is missing")
	}
}

func TestJUnit(t *testing.T) {
	report := build(t, "hardened")
	var b bytes.Buffer
	if err := JUnit(&b, report); err != nil {
		t.Fatal(err)
	}
	var got junitSuites
	if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	var tests, failures, errs, skipped int
	for _, suite := range got.Suites {
		for _, c := range suite.Cases {
			tests++
			switch {
			case c.Failure != nil:
				failures++
				if !strings.Contains(c.Failure.Text, "invented failure") {
					t.Errorf("%s has no message: %q", c.Name, c.Failure.Text)
				}
			case c.Error != nil:
				errs++
			case c.Skipped != nil:
				skipped++
			}
		}
	}
	want := report.Summary.Rules
	if tests != want.Total() || failures != want.NotHeld || errs != want.NotProved || skipped != want.NotApplicable ||
		failures == 0 || errs == 0 || skipped == 0 {
		t.Errorf("%d tests, %d failures, %d errors, %d skipped; want %+v", tests, failures, errs, skipped, want)
	}
}

func TestComparisonWithoutLinks(t *testing.T) {
	c := isolationreport.Compare(build(t, "in-tree"), build(t, "hardened"))
	for _, links := range []Links{{}, {First: "a.html", Second: "javascript:alert(1)"}} {
		var b bytes.Buffer
		if err := CompareHTML(&b, c, links); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), `href="a.html#NA-SECRET-1"`); got != (links.First != "") {
			t.Errorf("links %+v: a link to the evidence: %v", links, got)
		}
		if strings.Contains(b.String(), `href="javascript:`) {
			t.Error("a link runs a script")
		}
	}
}
