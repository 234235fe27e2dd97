// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"fmt"
	"strings"
	"time"
)

// columns is the most columns of a line of the page.
const columns = 100

const introduction = `# Reliability

What happens while parts of a cluster with Bulkhead are broken. ` + "`make failure`" + ` runs the
disruptions of this page on a cluster of the profile ` + "`hardened`" + ` and writes the page. Do not edit it.

During each disruption, a kubelet, a pod with a node scope and an administrator make requests all
the time. Attackers make requests that must never be allowed: with the kubelet's certificate, with
the pod's token, and without credentials. A disruption passes if

- no request of an attacker is allowed at any time,
- no node loses the condition Ready, except where the disruption must have this effect,
- the calls that do not need the broken part do not fail,
- after the repair, every call is answered as before, and none is denied.

"Recovered in" is the time from the repair until every call is answered as before. It includes the
start of the broken component. The disruptions are in ` + "`e2e/failure`" + `.

kubelet-auth-proxy remembers for at most 5 minutes who may exec. After that, exec needs
node-authorizer: with node scope on, the proxies' own account has no rights while it does not answer
([operations.md](operations.md)).

`

// Page returns docs/reliability.md.
func Page(results []Result) string {
	var b strings.Builder
	b.WriteString(introduction)
	fmt.Fprintf(&b, "## Results\n\n%s\n", wrap(where(results), ""))
	b.WriteString("| disruption | lasted | recovered in | nodes not Ready | attacks allowed |\n|---|---|---|---|---|\n")
	for _, r := range results {
		if r.NotRun == "" {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.Name, rounded(r.Lasted), rounded(r.Recovery), r.notReady(),
				r.attacks())
		}
	}
	b.WriteString("\n## The disruptions\n\n")
	for _, r := range results {
		b.WriteString(wrap("- **"+r.Name+"**: "+r.Broken+" "+r.text(), "  "))
	}
	return b.String()
}

// where returns where and when the results were made.
func where(results []Result) string {
	var first, last time.Time
	var machine, kubernetes string
	failed := 0
	for _, r := range results {
		if r.NotRun != "" {
			continue
		}
		if first.IsZero() || r.Began.Before(first) {
			first = r.Began
		}
		if r.Began.After(last) {
			last = r.Began
		}
		machine, kubernetes = r.Machine, r.Kubernetes
		if len(r.Problems) > 0 {
			failed++
		}
	}
	days := first.UTC().Format(time.DateOnly)
	if to := last.UTC().Format(time.DateOnly); to != days {
		days += " to " + to
	}
	return fmt.Sprintf("Run: %s, %s, Kubernetes %s. Failed: %d.\n", days, machine, kubernetes, failed)
}

func (r *Result) notReady() string {
	switch {
	case len(r.NotReady) == 0:
		return "none"
	case r.Expected:
		return fmt.Sprintf("%d, as expected", len(r.NotReady))
	}
	return fmt.Sprintf("**%d**", len(r.NotReady))
}

func (r *Result) attacks() string {
	allowed, all := 0, 0
	for _, c := range r.Calls {
		if c.Attack {
			allowed, all = allowed+c.Allowed, all+c.All()
		}
	}
	return fmt.Sprintf("%d of %d", allowed, all)
}

// text says how the calls were answered, and what did not meet the expectations.
func (r *Result) text() string {
	if r.NotRun != "" {
		return "Not run: " + r.NotRun + "."
	}
	var calls []string
	for _, c := range r.Calls {
		if !c.Attack {
			calls = append(calls, c.text())
		}
	}
	text := "Calls: " + strings.Join(calls, "; ") + "."
	if len(r.Problems) > 0 {
		text += " **Failed**: " + strings.Join(r.Problems, "; ") + "."
	}
	return text
}

func (c *Calls) text() string {
	text := fmt.Sprintf("%s %d in up to %s", c.Name, c.All(), rounded(c.Longest))
	if c.Denied+c.Failed == 0 {
		return text + ", all allowed"
	}
	if c.Failed > 0 {
		text += fmt.Sprintf(", %d failed", c.Failed)
	}
	if c.Denied > 0 {
		text += fmt.Sprintf(", %d denied", c.Denied)
	}
	return text
}

func rounded(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return d.Round(time.Second).String()
	case d >= 100*time.Millisecond:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Millisecond).String()
}

// wrap breaks a paragraph into lines. All lines after the first begin with the indentation.
func wrap(text, indent string) string {
	var b strings.Builder
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case len([]rune(line))+1+len([]rune(word)) > columns:
			b.WriteString(line + "\n")
			line = indent + word
		default:
			line += " " + word
		}
	}
	return b.String() + line + "\n"
}
