// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestReportIsSortedByUrgencyAndGrouped(t *testing.T) {
	all := []Finding{{Severity: Note, Problem: "n"}, {Severity: Soon, Problem: "s"}}
	for i := range 7 {
		all = append(all, Finding{Severity: Urgent, Problem: "is not guarded", Means: "m", Repair: "r",
			Names: []string{fmt.Sprintf("w%d", 7-i)}})
	}
	r := newReport(all)
	var out strings.Builder
	if err := r.Print(&out); err != nil {
		t.Fatal(err)
	}
	text := strings.Split(strings.TrimSpace(out.String()), "\n")
	if want := "urgent  w1, w2, w3, w4, w5 and 2 more: is not guarded"; text[0] != want {
		t.Errorf("first line is %q, want %q", text[0], want)
	}
	if want := "1 urgent, 1 soon, 1 note"; text[len(text)-1] != want {
		t.Errorf("last line is %q, want %q", text[len(text)-1], want)
	}
	if names := r.Findings[0].Names; len(names) != 7 || !slices.IsSorted(names) {
		t.Errorf("the report has %v, want all names", names)
	}
}

func TestReportHasNoControlCharacters(t *testing.T) {
	r := newReport([]Finding{{Problem: "a\x1b[2Jb", Repair: "c\nd", Names: []string{"e\rf"}}})
	var out strings.Builder
	if err := r.Print(&out); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\r") || strings.Contains(out.String(), "c\nd") {
		t.Errorf("%q", out.String())
	}
}
