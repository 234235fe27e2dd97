// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package isolationreport

import (
	"fmt"
	"strings"

	api "github.com/bulkhead-k8s/bulkhead/components/apis/nodeisolationreport"
)

// groupVerdict is one sentence about a group of rules.
func groupVerdict(c api.Counts) string {
	tried := c.Total() - c.NotApplicable
	switch {
	case c.Total() == 0:
		return "There are no rules."
	case tried == 0:
		return "No rule can be tested on this cluster."
	case c.Held == c.Total():
		return fmt.Sprintf("All %d rules hold.", c.Total())
	case c.Held == tried:
		return fmt.Sprintf("All %d rules that apply to this cluster hold.", tried)
	}
	text := fmt.Sprintf("%d of %d rules hold", c.Held, tried)
	return text + rest(c) + "."
}

func rest(c api.Counts) string {
	var parts []string
	if c.NotHeld > 0 {
		parts = append(parts, fmt.Sprintf("%d %s not hold", c.NotHeld, plural(c.NotHeld, "does", "do")))
	}
	if c.NotProved > 0 {
		parts = append(parts, fmt.Sprintf("%d %s not proved", c.NotProved, plural(c.NotProved, "is", "are")))
	}
	if len(parts) == 0 {
		return ""
	}
	return ", " + strings.Join(parts, ", ")
}

// verdict is about the whole cluster. It says what was tested, and no more.
func verdict(r *api.NodeIsolationReport) string {
	c, a := r.Summary.Rules, r.Summary.Attacks
	tried := c.Total() - c.NotApplicable
	var b strings.Builder
	switch {
	case tried == 0:
		return "No rule can be tested on this cluster, so the report shows nothing about it."
	case c.Held == tried && a.Succeeded == 0 && a.Unclear == 0:
		b.WriteString("Nodes are isolated in every way that was tested. ")
	case c.NotHeld > 0 || a.Succeeded > 0:
		b.WriteString("Nodes are not fully isolated. ")
	default:
		b.WriteString("Nothing that was tested contradicts the isolation of nodes, but not all of it is proved. ")
	}
	fmt.Fprintf(&b, "%d of the %d rules that apply hold%s.", c.Held, tried, rest(c))
	if c.NotApplicable > 0 {
		fmt.Fprintf(&b, " %d %s not apply to this cluster.", c.NotApplicable,
			plural(c.NotApplicable, "rule does", "rules do"))
	}
	if made := a.Total() - a.NotTried; made > 0 {
		if a.Stopped == made {
			fmt.Fprintf(&b, " All %d attacks were stopped", made)
		} else {
			fmt.Fprintf(&b, " Of %d attacks, %d %s stopped", made, a.Stopped, plural(a.Stopped, "was", "were"))
		}
		if a.Succeeded > 0 {
			fmt.Fprintf(&b, " and %d succeeded", a.Succeeded)
		}
		if a.Unclear > 0 {
			fmt.Fprintf(&b, "; %d %s unclear", a.Unclear, plural(a.Unclear, "is", "are"))
		}
		b.WriteString(".")
	}
	return b.String()
}
