// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

const (
	// named is how many names a line has. -o json has all.
	named = 5
	// maxText bounds a text that can come from the cluster, in bytes.
	maxText = 2048
)

var severities = []Severity{Urgent, Soon, Note}

// newReport groups equal findings, sorts them and counts them.
func newReport(all []Finding) *Report {
	r := &Report{Findings: group(all)}
	for _, f := range r.Findings {
		switch f.Severity {
		case Urgent:
			r.Urgent++
		case Soon:
			r.Soon++
		case Note:
			r.Notes++
		}
	}
	return r
}

// group makes one finding of all with the same problem. Its repair is that of the first one.
func group(all []Finding) []Finding {
	type key struct {
		severity Severity
		problem  string
	}
	grouped, at := []Finding{}, map[key]int{}
	for _, f := range all {
		f = printable(f)
		k := key{f.Severity, f.Problem}
		place, known := at[k]
		if !known {
			at[k] = len(grouped)
			grouped = append(grouped, f)
			continue
		}
		grouped[place].Names = append(grouped[place].Names, f.Names...)
	}
	for i := range grouped {
		slices.Sort(grouped[i].Names)
		grouped[i].Names = slices.Compact(grouped[i].Names)
	}
	slices.SortStableFunc(grouped, func(a, b Finding) int {
		return cmp.Compare(slices.Index(severities, a.Severity), slices.Index(severities, b.Severity))
	})
	return grouped
}

// printable removes characters that would change the output of a terminal. Names and texts can come
// from the cluster.
func printable(f Finding) Finding {
	f.Problem, f.Repair = webhook.Printable(f.Problem, maxText), webhook.Printable(f.Repair, maxText)
	f.Names = slices.Clone(f.Names)
	for i, name := range f.Names {
		f.Names[i] = webhook.Printable(name, maxText)
	}
	return f
}

// Healthy reports whether nothing is urgent or soon.
func (r *Report) Healthy() bool { return r.Urgent+r.Soon == 0 }

// Fixes returns the fixes of the findings, each once.
func (r *Report) Fixes() []Fix {
	var fixes []Fix
	for _, f := range r.Findings {
		if f.fix != nil && !slices.ContainsFunc(fixes, func(known Fix) bool { return known.Name == f.fix.Name }) {
			fixes = append(fixes, *f.fix)
		}
	}
	return fixes
}

// Summary is the last line of the table.
func (r *Report) Summary() string {
	notes := "notes"
	if r.Notes == 1 {
		notes = "note"
	}
	return fmt.Sprintf("%d urgent, %d soon, %d %s", r.Urgent, r.Soon, r.Notes, notes)
}

// Print writes the report as a table. The summary is the last line.
func (r *Report) Print(out io.Writer) error {
	var text strings.Builder
	for _, f := range r.Findings {
		_, _ = fmt.Fprintf(&text, "%-6s  %s%s\n", f.Severity, subject(f.Names), f.Problem)
		_, _ = fmt.Fprintf(&text, "        means:  %s\n        repair: %s\n", f.Means, f.Repair)
		if f.Fix != "" {
			_, _ = fmt.Fprintf(&text, "        fix:    bulkhead doctor --fix=%s\n", f.Fix)
		}
	}
	_, err := fmt.Fprintf(out, "%s%s\n", text.String(), r.Summary())
	return err
}

// subject returns the first names, and how many more there are.
func subject(names []string) string {
	if len(names) == 0 {
		return ""
	}
	text := strings.Join(names[:min(named, len(names))], ", ")
	if more := len(names) - named; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + ": "
}
