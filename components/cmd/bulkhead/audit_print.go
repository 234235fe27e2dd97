// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/auditreport"
)

// shownFindings is how many entries the text has. JSON has all.
const shownFindings = 30

func printAuditText(out io.Writer, result *auditResult) error {
	var b strings.Builder
	b.WriteString(sourceLine(result) + "\n")
	for i, e := range result.Findings {
		if i == shownFindings {
			fmt.Fprintf(&b, "\n%d more findings: -o json prints all.\n", len(result.Findings)-i)
			break
		}
		b.WriteString("\n")
		writeEntry(&b, e)
	}
	if len(result.Findings) > 0 {
		b.WriteString("\nA finding may be an attack: allow only requests that you know. `bulkhead audit -o installation`\n" +
			"prints an Installation with all of these settings. Take settings of nodePolicy from there: in your\n" +
			"file, nodePolicy replaces the whole policy of the profile.\n")
	}
	if len(result.Notes) > 0 {
		b.WriteString("\n")
		printAuditNotes(&b, result.Notes)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func printAuditNotes(out io.Writer, notes []string) {
	for _, note := range notes {
		_, _ = fmt.Fprintf(out, "Note: %s\n", note)
	}
}

// sourceLine says how much was read.
func sourceLine(result *auditResult) string {
	if stats := result.AuditLog; stats != nil {
		text := fmt.Sprintf("%d events, %d with findings", stats.Lines, stats.Findings)
		if !stats.First.IsZero() {
			text += fmt.Sprintf(", from %s to %s", stats.First.Format(time.RFC3339), stats.Last.Format(time.RFC3339))
		}
		return text
	}
	text := fmt.Sprintf("%s, %d with findings", countOf(result.Lines.Lines, "line"), result.Lines.Findings)
	if result.Lines.Findings == 0 {
		text += ": no rule in audit mode would have denied a request, or these are not the logs or metrics of Bulkhead"
	}
	return text
}

func writeEntry(b *strings.Builder, e auditreport.Entry) {
	certain := ""
	if e.Possible {
		certain = " may be denied"
	}
	fmt.Fprintf(b, "%s  %s of %s%s\n", e.Rule, countOf(e.Requests, "request"), usersOf(e), certain)
	field := func(name, text string) {
		if text != "" {
			fmt.Fprintf(b, "  %-9s %s\n", name+":", text)
		}
	}
	field("Rule", e.Description)
	if e.Binding != "" {
		field("Request", e.Request)
		field("Allowed", "today by "+e.Binding)
	}
	if e.Example != nil {
		field("Example", exampleOf(e.Example))
	}
	field("Nodes", nodesOf(e))
	for i, f := range e.Setting.Fields {
		name := "Setting"
		if i > 0 {
			name = ""
		}
		field(name, f.String())
	}
	if e.Setting.Incomplete {
		field("Keys", "not complete: the source does not list all of them")
	}
	field("Then", e.Setting.Then)
	field("Gives up", e.Setting.GivesUp)
	field("Remedy", e.Setting.Remedy)
}

func countOf(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// usersOf returns "2 users: a, b".
func usersOf(e auditreport.Entry) string {
	text := countOf(int64(e.Users), "user")
	if e.ManyUsers {
		text = fmt.Sprintf("more than %d users", e.Users)
	}
	if len(e.FirstUsers) == 0 {
		return text
	}
	text += ": " + strings.Join(e.FirstUsers, ", ")
	if e.Users > len(e.FirstUsers) || e.ManyUsers {
		text += ", …"
	}
	return text
}

// nodesOf returns the nodes whose kubelet-auth-proxy has reported the findings.
func nodesOf(e auditreport.Entry) string {
	const most = 5
	text := strings.Join(e.Nodes[:min(most, len(e.Nodes))], ", ")
	if len(e.Nodes) > most {
		text += ", …"
	}
	return text
}

func exampleOf(e *auditreport.Example) string {
	text := strings.Join(strings.Fields(e.User+" "+e.Verb+" "+e.Resource), " ")
	if name := strings.Trim(e.Namespace+"/"+e.Name, "/"); name != "" {
		text += " " + name
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// auditLogNotes say what the log does not show.
func auditLogNotes(stats auditreport.AuditLogStats) []string {
	var notes []string
	if stats.NodeObjects == 0 && stats.Reported == 0 {
		notes = append(notes, "labels and taints of new nodes were not checked: the log has no creation of a Node with its "+
			"object, which needs the audit level Request. `bulkhead preflight` checks the existing Nodes")
	}
	if stats.Reported == 0 {
		notes = append(notes, "other writes of nodes were not checked, such as IPs of pods and labels of existing Nodes: "+
			"run `bulkhead preflight`, and install in mode audit")
	}
	if stats.MirrorPods > 0 {
		notes = append(notes, fmt.Sprintf("the namespaces of %s were not checked: `bulkhead mirror-labels` prints what "+
			"they need", countOf(stats.MirrorPods, "mirror pod")))
	}
	if bad := stats.Unreadable + stats.TooLong; bad > 0 {
		notes = append(notes, countOf(bad, "line")+" could not be read")
	}
	return notes
}
