// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"
	"strings"
)

// Row is one quantity with the bar that it is held against.
type Row struct {
	// What is measured, as the end of a sentence that begins with nothing.
	What string
	// Bar is the most that passes. NoBar publishes without a verdict.
	Bar float64
	// Value is the median over the runs, Low and High the least and the most.
	Value, Low, High float64
	// Format makes text of a value: "%.2f ×", "%.0f MB".
	Format string
	// Note says which case the value is of, or why there is none.
	Note string
}

// NoBar is the bar of what is published only.
var NoBar = math.Inf(1)

// FromComparison is the row of a ratio: its median, and the least and the most
// that a single run found.
func FromComparison(what string, bar float64, c Comparison) Row {
	ratios := c.Ratios()
	return Row{What: what, Bar: bar, Value: c.Ratio(), Low: ratios.Min(), High: ratios.Max(), Format: "%.3f ×"}
}

// FromSample is the row of a quantity that is not compared.
func FromSample(what string, bar float64, format string, s Sample) Row {
	return Row{What: what, Bar: bar, Value: s.Median(), Low: s.Min(), High: s.Max(), Format: format}
}

// Missed reports whether the value is above the bar. What could not be measured
// has missed every bar.
func (r Row) Missed() bool {
	return !math.IsInf(r.Bar, 1) && !(r.Value <= r.Bar)
}

// Verdict is pass, MISSED, or a dash where there is no bar.
func (r Row) Verdict() string {
	switch {
	case math.IsInf(r.Bar, 1):
		return "–"
	case r.Missed():
		return "**MISSED**"
	default:
		return "pass"
	}
}

// cells are the row's texts in the order of the table's columns.
func (r Row) cells() []string {
	bar := "published"
	if !math.IsInf(r.Bar, 1) {
		bar = "≤ " + r.text(r.Bar)
	}
	return []string{r.What, bar, r.text(r.Value), r.text(r.Low) + " – " + r.text(r.High), r.Verdict(), r.Note}
}

func (r Row) text(value float64) string {
	if math.IsNaN(value) {
		return "not measured"
	}
	return fmt.Sprintf(r.Format, value)
}

// Table is any table of texts.
type Table struct {
	Title  string
	Header []string
	Rows   [][]string
}

// Summary is the table that holds every row against its bar.
func Summary(rows []Row) Table {
	table := Table{Header: []string{"what", "bar", "median", "least – most", "verdict", "which"}}
	for _, row := range rows {
		table.Rows = append(table.Rows, row.cells())
	}
	return table
}

// Markdown is the table as GitHub shows it.
func (t Table) Markdown() string {
	var out strings.Builder
	if t.Title != "" {
		fmt.Fprintf(&out, "**%s**\n\n", t.Title)
	}
	writeCells(&out, t.Header)
	out.WriteString(strings.Repeat("|---", len(t.Header)) + "|\n")
	for _, row := range t.Rows {
		writeCells(&out, row)
	}
	return out.String()
}

func writeCells(out *strings.Builder, cells []string) {
	for _, cell := range cells {
		fmt.Fprintf(out, "| %s ", strings.ReplaceAll(cell, "|", `\|`))
	}
	out.WriteString("|\n")
}

// Plain is the table for a terminal, in columns.
func (t Table) Plain() string {
	widths := make([]int, len(t.Header))
	all := append([][]string{t.Header}, t.Rows...)
	for _, row := range all {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(plain(cell))))
		}
	}
	var out strings.Builder
	for _, row := range all {
		var line strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&line, "%-*s  ", widths[i], plain(cell))
		}
		out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return out.String()
}

func plain(cell string) string { return strings.NewReplacer("**", "", "`", "").Replace(cell) }
