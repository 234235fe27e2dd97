// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopesuggest"
)

func printSuggestion(out io.Writer, output string, account scopelist.Account, stats scopesuggest.LogStats,
	s scopesuggest.Suggestion) error {
	if output == "json" {
		return printJSON(out, map[string]any{"seen": stats, "suggestion": s})
	}
	printStats(out, account, stats)
	if err := suggestionTable(out, s.Resources); err != nil {
		return err
	}
	for _, w := range s.Wildcards {
		_, _ = fmt.Fprintf(out,
			"RBAC grants %s by a wildcard: the scope can have only resources of it that are in the log. Add the others that "+
				"the account needs.\n", printable(w))
	}
	for _, name := range s.Impersonates {
		_, _ = fmt.Fprintf(out,
			"The account impersonates %s: no scope allows that [NS-IMPERSONATE-1].\n",
			printable(name))
	}
	for _, request := range s.Unscoped {
		_, _ = fmt.Fprintf(out, "No scope allows this request: %s\n", printable(request))
	}
	if s.Annotation == "" {
		_, err := fmt.Fprintln(out, "\nNo resource can be in the scope.")
		return err
	}
	if s.Written > 0 {
		_, _ = fmt.Fprintf(out,
			"%d writes were checked without their content: it is checked only while the account is in mode audit, so begin "+
				"with that mode.\n", s.Written)
	}
	_, err := fmt.Fprintf(out, "\nkubectl -n %s annotate --overwrite serviceaccount %s \\\n  %s=audit \\\n  %s='%s'\n",
		account.Namespace, account.Name, nodescope.ModeAnnotation, nodescope.ScopeAnnotation, s.Annotation)
	return err
}

func printStats(out io.Writer, account scopelist.Account, stats scopesuggest.LogStats) {
	_, _ = fmt.Fprintf(out, "%d requests of %s/%s were allowed", stats.Requests, account.Namespace, account.Name)
	if stats.Requests > 0 {
		_, _ = fmt.Fprintf(out, ", from %s to %s", stats.First.Format(time.RFC3339), stats.Last.Format(time.RFC3339))
	}
	_, _ = fmt.Fprintf(out, "; %d more were denied, and do not count.\n", stats.Refused)
	if stats.Unreadable > 0 {
		_, _ = fmt.Fprintf(out, "%d lines could not be read.\n", stats.Unreadable)
	}
	_, _ = fmt.Fprintln(out)
}

// printable replaces characters that could move the cursor. A name in a log can contain any
// character.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

func suggestionTable(out io.Writer, all []scopesuggest.Resource) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "RESOURCE\tSEEN\tOTHER NODES\tIN THE SCOPE\tDENIED ON OTHER NODES / WHY NOT")
	for _, r := range all {
		inScope, detail := "no", r.Why
		if r.InScope {
			inScope, detail = "yes", strings.Join(r.Stops, ",")
		}
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%s\n", printable(r.Name), r.Seen, r.OtherNodes, inScope,
			printable(detail))
	}
	return table.Flush()
}
