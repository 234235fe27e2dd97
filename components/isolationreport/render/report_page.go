// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	api "github.com/bulkhead-k8s/bulkhead/components/apis/nodeisolationreport"
)

type reportPage struct {
	page
	Tone, Headline, Verdict string
	Facts                   []fact
	Cards                   []card
	Controls                controls
	Rules                   []ruleRow
	AttackLead              string
	Attacks                 []story
	Help                    []help
	Runs                    []runRow
}

type card struct {
	Name, Verdict string
	Bars          []bar
	Counts        []counted
}

type ruleRow struct {
	api.Rule
	Result               label
	Order                int
	Words, Summary, More string
	Evidence             []step
}

// step is the evidence of one spec.
type step struct {
	api.Evidence
	Outcome label
	Took    string
}

type story struct {
	api.Attack
	About        about
	Anchor, More string
	Verdict      label
	Steps        []step
}

type help struct {
	Result label
	Text   string
}

type runRow struct {
	api.Run
	Started, Took string
}

// HTML writes the page of a report. The report must be valid.
func HTML(w io.Writer, r *api.NodeIsolationReport) error {
	return write(w, "report.tmpl", func(l limits) any { return newReportPage(r, l) })
}

func newReportPage(r *api.NodeIsolationReport, l limits) reportPage {
	p := reportPage{
		page: newPage("Node isolation report: "+r.Metadata.Profile, "Made from the results of Bulkhead's end-to-end suites, "+
			"version "+r.Metadata.BulkheadVersion+". Kind NodeIsolationReport, "+api.APIVersion+"."),
		Tone: tone(r.Summary), Facts: facts(r.Metadata), AttackLead: attackLead(r.Summary.Attacks), Help: helps(),
	}
	p.Headline, p.Verdict = headline(r.Summary.Verdict)
	p.Controls = controls{Legend: "Result", Total: len(r.Rules), Filters: []filter{{"", "All", len(r.Rules)}}}
	for _, c := range countRules(r.Summary.Rules) {
		p.Controls.Filters = append(p.Controls.Filters, filter{c.Class, c.Word, c.Count})
	}
	for _, profile := range r.Profiles {
		p.Controls.Groups = append(p.Controls.Groups, profile.Name)
		p.Cards = append(p.Cards, card{profile.Name, profile.Verdict, bars(profile.Rules), countRules(profile.Rules)})
	}
	for i, rule := range r.Rules {
		p.Rules = append(p.Rules, newRuleRow(i, rule, l))
	}
	anchors := map[string]int{}
	for _, attack := range r.Attacks {
		s := newStory(attack, anchors, l)
		// Attacks with one number have one text. Repeated, it would not leave room for the evidence.
		if !slices.ContainsFunc(p.Attacks, func(earlier story) bool { return earlier.ID == attack.ID }) {
			s.About = abouts[attack.ID]
		}
		p.Attacks = append(p.Attacks, s)
	}
	for _, run := range r.Runs {
		p.Runs = append(p.Runs, runRow{run, run.Started.UTC().Format("2006-01-02 15:04 UTC"), run.Duration.Duration.String()})
	}
	return p
}

func newRuleRow(i int, rule api.Rule, l limits) ruleRow {
	row := ruleRow{Rule: rule, Result: resultLabel(rule.Result), Order: i, Summary: summary(rule)}
	row.Source = strings.TrimSuffix(row.Source, ".")
	row.Words = strings.Join([]string{rule.ID, rule.Profile, row.Result.Word, rule.Description, rule.Source,
		rule.Reason}, " ")
	row.Evidence = steps(rule.Evidence, l)
	row.More = more(len(rule.Evidence) - len(row.Evidence) + rule.MoreEvidence)
	return row
}

// summary counts the specs of a rule by outcome.
func summary(rule api.Rule) string {
	if len(rule.Evidence) == 0 {
		return "Evidence: none"
	}
	counts := map[api.Outcome]int{}
	for _, e := range rule.Evidence {
		counts[e.Outcome]++
	}
	var parts []string
	for _, o := range []api.Outcome{
		api.Failed, api.TimedOut, api.Denied, api.Allowed, api.Unconfirmed, api.Skipped,
	} {
		if counts[o] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[o], strings.ToLower(outcomeLabel(o).Word)))
		}
	}
	return "Evidence: " + strings.Join(parts, ", ")
}

func steps(all []api.Evidence, l limits) []step {
	list := make([]step, 0, min(len(all), l.evidence))
	for _, e := range all[:min(len(all), l.evidence)] {
		e.Spec, e.Request, e.Happened = cut(e.Spec, l.text), cut(e.Request, l.text), cut(e.Happened, l.text)
		e.Message = cut(e.Message, l.message)
		list = append(list, step{e, outcomeLabel(e.Outcome), took(e.Duration.Duration)})
	}
	return list
}

func took(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("This page does not show %d more specs.", n)
}

var notInAnchor = regexp.MustCompile(`[^a-z0-9]+`)

// newStory gives an attack an anchor of its number and name, so that a link survives other attacks.
func newStory(attack api.Attack, anchors map[string]int, l limits) story {
	const longest = 60
	name := cut(strings.Trim(notInAnchor.ReplaceAllString(strings.ToLower(attack.Name), "-"), "-"), longest)
	id := notInAnchor.ReplaceAllString(strings.ToLower(attack.ID), "")
	anchor := strings.Trim("attack-"+id+"-"+name, "-…")
	anchors[anchor]++
	if n := anchors[anchor]; n > 1 {
		anchor += fmt.Sprintf("-%d", n)
	}
	s := story{Attack: attack, Anchor: anchor, Verdict: verdictLabel(attack.Verdict), Steps: steps(attack.Steps, l)}
	s.More = more(len(attack.Steps) - len(s.Steps) + attack.MoreSteps)
	return s
}

func attackLead(c api.AttackCounts) string {
	if c.Total() == 0 {
		return "The results have no attacks."
	}
	text := fmt.Sprintf("%d of %d attacks were stopped", c.Stopped, c.Total())
	for _, v := range api.Verdicts()[1:] {
		if n := c.Of(v); n > 0 {
			text += fmt.Sprintf(", %d %s", n, strings.ToLower(verdictLabel(v).Word))
		}
	}
	return text + ". Each has its attempts, and the permitted requests that differ in one thing."
}

func helps() []help {
	return []help{
		{resultLabel(api.Held), "The cluster denied at least one request and allowed at least one, as the rule says. " +
			"Nothing contradicts it."},
		{resultLabel(api.NotHeld), "The cluster allowed a request that the rule denies, or a spec of the rule failed. " +
			"Without Bulkhead, this is expected for rules that Kubernetes does not have."},
		{resultLabel(api.NotProved), "Nothing contradicts the rule, but no denial or no allowed request was seen, " +
			"or a spec met a time limit."},
		{resultLabel(api.NotApplicable), "No spec of the rule can run on this cluster. The rule has the reason."},
		{verdictLabel(api.Stopped), "Every attempt of the attack was denied."},
		{verdictLabel(api.Succeeded), "The cluster allowed an attempt."},
		{verdictLabel(api.Unclear), "A spec of the attack failed or met a time limit, or no attempt was denied."},
		{verdictLabel(api.NotTried), "The suite skipped the attack on this cluster."},
	}
}
