// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// String returns the report in readable form.
func (r *report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "profile %s, node scope installed: %v\n\n", r.Setting.profile, r.Setting.scoped)
	r.table(&b)
	section(&b, "Found", r.found())
	section(&b, "Reach beyond the own node", r.reach())
	section(&b, "By status", sorted(r.All.Codes))
	section(&b, "Not tried", r.notTried())
	section(&b, "Undecided", r.examples(undecided))
	if r.Setting.judged() {
		section(&b, "Explained by the reviewed list", r.explained())
		section(&b, "On the reviewed list, and not met", r.unused())
		section(&b, "NOT EXPLAINED", r.unexplained())
	}
	return b.String()
}

// summary returns the part of the report that a run prints.
func (r *report) summary() string {
	var b strings.Builder
	b.WriteString("\n")
	r.table(&b)
	section(&b, "Found", r.found())
	section(&b, "Reach beyond the own node", r.reach())
	section(&b, "By status", sorted(r.All.Codes))
	section(&b, "Not tried", r.notTried())
	section(&b, "On the reviewed list, and not met", r.unused())
	return b.String()
}

func section(b *strings.Builder, title string, lines []string) {
	fmt.Fprintf(b, "\n%s: %d\n", title, len(lines))
	for _, line := range lines {
		fmt.Fprintf(b, "  %s\n", line)
	}
}

// table writes a row for each name, and one row for all.
func (r *report) table(b *strings.Builder) {
	out := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "CREDENTIAL\tATTEMPTS\tSUCCEEDED\tPASSED\tREFUSED\tMISSING\tUNDECIDED\tBEYOND ITS NODE\tOF THESE, "+
		"RIGHTS")
	row := func(name string, t *tally, rights int) {
		fmt.Fprintf(out, "%s\t%d", name, t.Made)
		for _, v := range verdicts {
			fmt.Fprintf(out, "\t%d", t.Verdicts[v])
		}
		fmt.Fprintf(out, "\t%d\t%d\n", t.Outside, rights)
	}
	for _, name := range r.names() {
		t := r.of(name)
		row(name, t, len(t.Rights))
	}
	row("all", r.All, r.rights())
	_ = out.Flush() // a write to memory does not fail
}

// rights returns the number of different rights beyond the own node, summed over the credentials.
func (r *report) rights() int {
	n := 0
	for _, name := range r.names() {
		n += len(r.of(name).Rights)
	}
	return n
}

func (r *report) found() []string {
	var lines []string
	for _, c := range r.Credentials {
		line := fmt.Sprintf("%s: %s, who it is: %d", c.Name, c.From, c.Control)
		if c.Foreign != "" {
			line += " (" + c.Foreign + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

func (r *report) reach() []string {
	var lines []string
	for _, name := range r.names() {
		for _, right := range sorted(r.of(name).Rights) {
			lines = append(lines, name+": "+right)
		}
	}
	return lines
}

func (r *report) notTried() []string {
	var lines []string
	for _, s := range r.Skipped {
		lines = append(lines, fmt.Sprintf("%s (%d): %s", s.What, s.Count, s.Why))
	}
	return lines
}

func (r *report) examples(of verdict) []string {
	var lines []string
	for _, a := range r.Answers {
		if a.Verdict == of {
			lines = append(lines, a.String())
		}
	}
	return lines
}

func (r *report) explained() []string {
	var lines []string
	for i, e := range reviewed {
		if n := r.Used[i]; n > 0 {
			lines = append(lines, fmt.Sprintf("%s: %d", e, n))
		}
	}
	return lines
}

func (r *report) unused() []string {
	var lines []string
	for _, e := range r.Unused {
		lines = append(lines, e.String())
	}
	return lines
}

func (r *report) unexplained() []string {
	var lines []string
	for _, a := range r.Unexplained {
		lines = append(lines, a.String())
	}
	return lines
}

// String returns the entry in readable form.
func (e entry) String() string {
	text := fmt.Sprintf("%s: %s: %s %v", e.who, e.verbs, e.resources, e.to)
	if e.objects != "" {
		text += " " + e.objects
	}
	return text + ": " + e.why
}

// String returns the whole attempt with its result.
func (a answer) String() string {
	return fmt.Sprintf("%s: %s: %d %s: %s", a.Credential.Name, a.Verdict, a.Code, strings.TrimSpace(a.Message), a.attempt)
}
