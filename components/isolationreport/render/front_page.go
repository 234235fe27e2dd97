// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"io"

	api "github.com/bulkhead-k8s/bulkhead/components/apis/nodeisolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/isolationreport"
)

type frontPage struct {
	page
	Tone    string
	Entries []entry
}

// entry links to one page.
type entry struct {
	Anchor, Name, Text, Link, File string
	Bars                           []bar
	Counts                         []counted
}

// FrontPage writes the page that links to two reports and their comparison. folder is where they are,
// as part of an address.
func FrontPage(w io.Writer, c *isolationreport.Comparison, folder string) error {
	p := frontPage{
		page: newPage("Bulkhead: node isolation reports", "Made by make reports."), Tone: "neutral",
	}
	for _, report := range []struct {
		title string
		of    *api.NodeIsolationReport
	}{{"With Bulkhead", c.Second}, {"Without Bulkhead", c.First}} {
		name := report.of.Metadata.Profile
		p.Entries = append(p.Entries, entry{
			Anchor: name, Name: fmt.Sprintf("%s (%s)", report.title, name), Text: report.of.Summary.Verdict,
			Link: folder + "/" + name + ".html", File: folder + "/" + name + ".yaml",
			Bars: bars(report.of.Summary.Rules), Counts: countRules(report.of.Summary.Rules),
		})
	}
	p.Entries = append(p.Entries, entry{Anchor: "compare", Name: "Both side by side", Text: c.Verdict,
		Link: folder + "/compare.html"})
	return write(w, "index.tmpl", func(limits) any { return p })
}
