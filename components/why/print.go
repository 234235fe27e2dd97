// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"fmt"
	"io"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

// Print writes the answer as text: one line for each field.
func (a *Answer) Print(out io.Writer) error {
	var b strings.Builder
	if a.Request != "" {
		field(&b, "Request", a.Request)
		field(&b, "Decision", string(a.Outcome)+" at "+string(a.Step))
	}
	if len(a.Rules) == 1 {
		field(&b, "Rule", string(a.Rules[0].ID))
	}
	field(&b, map[Outcome]string{Allowed: "Allowed by", Denied: "Denied by"}[a.Outcome], a.By)
	if a.Request != "" {
		field(&b, "Reason", a.Reason)
	}
	a.Path.print(&b)
	name := "View"
	for _, v := range a.View {
		field(&b, name, v.String())
		name = ""
	}
	for i, r := range a.Rules {
		if len(a.Rules) > 1 {
			if i > 0 {
				b.WriteString("\n")
			}
			field(&b, "Rule", string(r.ID))
		}
		r.print(&b)
	}
	name = "To allow"
	for _, o := range a.Options {
		field(&b, name, o.String())
		name = ""
	}
	for _, r := range a.Findings {
		field(&b, "Audited", fmt.Sprintf("%s would have denied the request: %s", r.ID, r.Description))
	}
	for _, note := range a.Notes {
		field(&b, "Note", note)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// field writes one line. Without a name, it continues the field above.
func field(b *strings.Builder, name, text string) {
	text = webhook.Printable(text, maxField)
	if text == "" {
		return
	}
	if name != "" {
		name += ":"
	}
	fmt.Fprintf(b, "%-12s %s\n", name, text)
}

func (r Rule) print(b *strings.Builder) {
	field(b, "Description", r.Description)
	field(b, "Source", r.Source)
	field(b, "Here", r.Here)
	field(b, "Hardened", r.Hardened)
	field(b, "Parity", r.Parity)
	field(b, "Needs", r.Needs)
}

// String returns the option on one line.
func (o Option) String() string {
	text := o.Text
	switch {
	case o.Setting != "":
		text = o.Setting
	case o.Command != "":
		text = o.Command
	}
	if o.GivesUp != "" {
		text += " (gives up: " + strings.TrimSuffix(o.GivesUp, ".") + ")"
	}
	return text
}

func (p *Path) print(b *strings.Builder) {
	switch {
	case p == nil:
		return
	case p.Unknown != "":
		field(b, "Path", "unknown: "+p.Unknown)
		return
	}
	lines := p.Here
	if p.Missing != "" {
		lines = append([]string{p.Missing}, lines...)
	}
	for _, line := range p.Elsewhere {
		if p.Missing != "" {
			lines = append(lines, line)
		}
	}
	if p.More > 0 {
		lines = append(lines, fmt.Sprintf("%d more paths", p.More))
	}
	if p.OnlyWithout != "" {
		lines = append(lines, "rule "+string(p.OnlyWithout)+" does not accept this path, if it is enforced")
	}
	name := "Path"
	for _, line := range lines {
		field(b, name, line)
		name = ""
	}
}

// PrintRule writes a rule in full.
func PrintRule(out io.Writer, r FullRule) error {
	var b strings.Builder
	field(&b, "Rule", string(r.ID))
	field(&b, "Component", r.Component)
	r.print(&b)
	name := "Exception"
	for _, o := range r.Exception {
		field(&b, name, o.String())
		name = ""
	}
	name = "Specs"
	for _, s := range r.Specs {
		field(&b, name, fmt.Sprintf("%s, %s: %s", s.Suite, s.Want, s.Text))
		name = ""
	}
	_, err := io.WriteString(out, b.String())
	return err
}
