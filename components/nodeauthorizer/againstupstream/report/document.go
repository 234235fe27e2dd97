// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"
)

// Section is what one measurement found.
type Section struct {
	Title string
	// Text says what was measured and how, in Markdown.
	Text     string
	Rows     []Row
	Tables   []Table
	Profiles []Profile
	Curves   []Curves
}

// Profile says where the time or the memory of a missed bar went.
type Profile struct{ Title, Text string }

// Document is the page.
type Document struct {
	Machine string
	// Versions are of what was measured, Command is how to measure it again.
	Versions, Command string
	Sections          []Section
	// Plot is the file of the curves, next to the page.
	Plot string
}

// Rows are those of all sections.
func (d *Document) Rows() []Row {
	var rows []Row
	for _, section := range d.Sections {
		rows = append(rows, section.Rows...)
	}
	return rows
}

// Curves are those of all sections.
func (d *Document) Curves() []Curves {
	var curves []Curves
	for _, section := range d.Sections {
		curves = append(curves, section.Curves...)
	}
	return curves
}

// Missed counts the bars that are.
func (d *Document) Missed() int {
	missed := 0
	for _, row := range d.Rows() {
		if row.Missed() {
			missed++
		}
	}
	return missed
}

const introduction = `<!-- Written by ` + "`%[1]s`" + `: change the program, not this page. -->
# Performance

Everything here was measured by ` + "`%[1]s`" + `: ours and the in-tree code of Kubernetes in the same
process, turn by turn. A ratio is our median divided by theirs; below 1 ours is faster or smaller. "Least – most" is what
single runs found. A bar is what we hold ourselves to; what is above it says MISSED. This table is the node authorizer's; what other
programs measure comes after it, each with a table of its own.

- Machine: %[2]s
- Versions: %[3]s

`

// Markdown is the whole page, without the parts of other programs.
func (d *Document) Markdown() string {
	var out strings.Builder
	fmt.Fprintf(&out, introduction, d.Command, d.Machine, d.Versions)
	d.write(&out, "##")
	return out.String()
}

const partIntroduction = `## %s

Measured by ` + "`%s`" + `. Machine: %s. Versions: %s.

`

// Part is the document as a part of the page ([Replace]).
func (d *Document) Part(title string) string {
	var out strings.Builder
	fmt.Fprintf(&out, partIntroduction, title, d.Command, d.Machine, d.Versions)
	d.write(&out, "###")
	return out.String()
}

// write is the table, and the sections below headings of that level.
func (d *Document) write(out *strings.Builder, level string) {
	out.WriteString(Summary(d.Rows()).Markdown())
	switch missed := d.Missed(); missed {
	case 0:
		out.WriteString("\nNo bar is missed.\n")
	case 1:
		out.WriteString("\nOne bar is missed.\n")
	default:
		fmt.Fprintf(out, "\n%d bars are missed.\n", missed)
	}
	for _, section := range d.Sections {
		section.write(out, level, d.Plot)
	}
}

func (s *Section) write(out *strings.Builder, level, plot string) {
	fmt.Fprintf(out, "\n%s %s\n\n%s\n", level, s.Title, strings.TrimSpace(s.Text))
	if len(s.Curves) > 0 && plot != "" {
		fmt.Fprintf(out, "\n![%s](%s)\n", s.Title, plot)
	}
	for _, table := range s.Tables {
		out.WriteString("\n" + table.Markdown())
	}
	for _, profile := range s.Profiles {
		fmt.Fprintf(out, "\n<details><summary>Profile: %s</summary>\n\n```\n%s\n```\n</details>\n", profile.Title, strings.TrimRight(profile.Text, "\n"))
	}
}
