// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	api "github.com/bulkhead-k8s/bulkhead/components/apis/nodeisolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/isolationreport"
)

// Links are the addresses of the pages of both reports, for links from a comparison. Both can be
// empty.
type Links struct{ First, Second string }

type comparePage struct {
	page
	Tone, Headline, Verdict string
	First, Second           string
	FirstLink, SecondLink   string
	Notes                   []string
	Facts                   []fact
	Cards                   []compareCard
	Controls                controls
	Rules                   []compareRow
	Attacks                 []compareAttack
}

type compareCard struct {
	Name  string
	Sides []side
}

type side struct {
	Name        string
	Held, Total int
	Bars        []bar
}

type compareRow struct {
	ID, Profile, Description, Words string
	Order                           int
	First, Second, Change           label
	FirstWhy, SecondWhy             string
}

type compareAttack struct {
	ID, Name      string
	First, Second label
}

// CompareHTML writes the page of a comparison.
func CompareHTML(w io.Writer, c *isolationreport.Comparison, links Links) error {
	return write(w, "compare.tmpl", func(l limits) any { return newComparePage(c, links, l) })
}

func newComparePage(c *isolationreport.Comparison, links Links, l limits) comparePage {
	first, second := names(c)
	p := comparePage{
		page: newPage("Node isolation: "+first+" and "+second, "Made from two reports of kind NodeIsolationReport, "+
			api.APIVersion+"."),
		Tone: "neutral", First: first, Second: second, FirstLink: links.First, SecondLink: links.Second, Notes: c.Notes,
	}
	p.Headline, p.Verdict = headline(c.Verdict)
	p.Facts = []fact{{first, inOneLine(c.First.Metadata)}, {second, inOneLine(c.Second.Metadata)}}
	p.Controls = controls{Legend: "Change", Total: len(c.Rules), Filters: []filter{{"", "All", len(c.Rules)}}}
	for _, change := range isolationreport.Changes() {
		p.Controls.Filters = append(p.Controls.Filters, filter{
			string(change), changeWord(change, first, second), c.Counts[change],
		})
	}
	for i, pair := range c.Rules {
		p.Rules = append(p.Rules, newCompareRow(i, pair, changeWord(pair.Change, first, second), l))
	}
	for _, profile := range c.Second.Profiles {
		p.Controls.Groups = append(p.Controls.Groups, profile.Name)
		before := api.Count(c.First.Rules, profile.Name)
		p.Cards = append(p.Cards, compareCard{profile.Name, []side{
			{first, before.Held, before.Total(), bars(before)},
			{second, profile.Rules.Held, profile.Rules.Total(), bars(profile.Rules)},
		}})
	}
	for _, pair := range c.Attacks {
		p.Attacks = append(p.Attacks, newCompareAttack(pair, l))
	}
	return p
}

// changeWord says in which report the rule holds.
func changeWord(c isolationreport.Change, first, second string) string {
	switch c {
	case isolationreport.Gained:
		return "Only " + second
	case isolationreport.Lost:
		return "Only " + first
	case isolationreport.Other:
		return "Differs"
	case isolationreport.Same:
	}
	return "Same"
}

func inOneLine(m api.Metadata) string {
	return fmt.Sprintf("%s. Kubernetes %s, %d nodes, %s. Finished on %s.", installed(m), m.KubernetesVersion, m.Nodes,
		cmp.Or(m.Platform, "platform not known"), m.Finished.UTC().Format("2 January 2006"))
}

// names returns the profiles of both reports, or names that differ.
func names(c *isolationreport.Comparison) (first, second string) {
	first, second = cmp.Or(c.First.Metadata.Profile, "first"), cmp.Or(c.Second.Metadata.Profile, "second")
	if first == second {
		return first + " (first)", second + " (second)"
	}
	return first, second
}

func newCompareRow(i int, pair isolationreport.RulePair, change string, l limits) compareRow {
	row := compareRow{ID: pair.ID, Profile: pair.Profile, Description: pair.Description, Order: i,
		Change: label{Class: string(pair.Change), Word: change, Order: slices.Index(isolationreport.Changes(), pair.Change)}}
	row.First, row.FirstWhy = sideOf(pair.First, l)
	row.Second, row.SecondWhy = sideOf(pair.Second, l)
	row.Words = strings.Join([]string{row.ID, row.Profile, row.Description, row.Change.Word, row.First.Word,
		row.Second.Word}, " ")
	return row
}

func sideOf(rule *api.Rule, l limits) (label, string) {
	if rule == nil {
		return absent, "This report does not have the rule."
	}
	return resultLabel(rule.Result), cut(cmp.Or(rule.Reason, resultWords[rule.Result]+". "+summary(*rule)+"."), l.message)
}

func newCompareAttack(pair isolationreport.AttackPair, l limits) compareAttack {
	row := compareAttack{ID: pair.ID, Name: cut(pair.Name, l.text), First: absent, Second: absent}
	if pair.First != nil {
		row.First = verdictLabel(pair.First.Verdict)
	}
	if pair.Second != nil {
		row.Second = verdictLabel(pair.Second.Verdict)
	}
	return row
}
