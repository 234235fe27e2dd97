// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	api "github.com/bulkhead-k8s/bulkhead/components/apis/nodeisolationreport"
)

// label is a result as a page shows it: with an icon and words, never by colour alone. Order is its
// place among the others.
type label struct {
	Class, Icon, Word string
	Order             int
}

var resultWords = map[api.Result]string{
	api.Held: "Holds", api.NotHeld: "Does not hold", api.NotProved: "Not proved", api.NotApplicable: "Not applicable",
}

func resultLabel(r api.Result) label {
	return label{string(r), string(r), resultWords[r], slices.Index(api.Results(), r)}
}

func verdictLabel(v api.Verdict) label {
	l := label{Class: string(v), Order: slices.Index(api.Verdicts(), v)}
	switch v {
	case api.Stopped:
		l.Icon, l.Word = "held", "Stopped"
	case api.Succeeded:
		l.Icon, l.Word = "notHeld", "Succeeded"
	case api.Unclear:
		l.Icon, l.Word = "notProved", "Unclear"
	default:
		l.Icon, l.Word = "notApplicable", "Not tried"
	}
	return l
}

func outcomeLabel(o api.Outcome) label {
	if o == api.TimedOut {
		// It has the colours of the other outcome that proves nothing.
		return label{Class: string(api.Unconfirmed), Word: "Time limit"}
	}
	word := strings.ToUpper(string(o[:1])) + string(o[1:])
	return label{Class: string(o), Word: word}
}

// absent is the label of a rule or an attack that a report does not have.
var absent = label{Class: "absent", Icon: "notApplicable", Word: "Not in the report", Order: len(api.Results())}

// counted is a label and how often it occurs.
type counted struct {
	label
	Count int
}

func countRules(c api.Counts) (list []counted) {
	for _, r := range api.Results() {
		list = append(list, counted{resultLabel(r), c.Of(r)})
	}
	return list
}

// bar is a part of a bar that is 1000 wide.
type bar struct {
	Class    string
	X, Width int
}

func bars(c api.Counts) (list []bar) {
	total, before := c.Total(), 0
	for _, r := range api.Results() {
		if n := c.Of(r); n > 0 {
			x := before * 1000 / total
			before += n
			list = append(list, bar{string(r), x, before*1000/total - x})
		}
	}
	return list
}

// filter is a button that shows only the rows with its value.
type filter struct {
	Value, Word string
	Count       int
}

type controls struct {
	Legend  string
	Groups  []string
	Filters []filter
	Total   int
}

// fact is an item of the list below the verdict.
type fact struct{ Name, Value string }

func facts(m api.Metadata) []fact {
	const form = "2 January 2006, 15:04 UTC"
	list := []fact{
		{"Installed", installed(m)},
		{"Kubernetes", cmp.Or(m.KubernetesVersion, "not known")},
		{"Nodes", fmt.Sprint(m.Nodes)},
		{"Platform", cmp.Or(m.Platform, "not known")},
		{"Started", m.Started.UTC().Format(form)},
		{"Finished", m.Finished.UTC().Format(form)},
	}
	return list
}

func installed(m api.Metadata) string {
	switch m.Profile {
	case "in-tree":
		return "Kubernetes only (profile in-tree), tested by the suites of Bulkhead " + m.BulkheadVersion
	case "any":
		return "Not known, tested by the suites of Bulkhead " + m.BulkheadVersion
	}
	return fmt.Sprintf("Bulkhead %s, profile %s", m.BulkheadVersion, m.Profile)
}

// tone is the class of the verdict.
func tone(s api.Summary) string {
	switch {
	case s.Rules.NotHeld > 0 || s.Attacks.Succeeded > 0:
		return string(api.NotHeld)
	case s.Rules.NotProved > 0 || s.Attacks.Unclear > 0:
		return string(api.NotProved)
	case s.Rules.Held > 0:
		return string(api.Held)
	}
	return string(api.NotApplicable)
}

// headline splits the first sentence from the rest.
func headline(verdict string) (first, rest string) {
	if at := strings.Index(verdict, ". "); at >= 0 {
		return strings.TrimSuffix(verdict[:at+1], "."), verdict[at+2:]
	}
	return strings.TrimSuffix(verdict, "."), ""
}

// cut limits the length of a text, in bytes.
func cut(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return strings.ToValidUTF8(text[:size], "") + "…"
}
