// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/apis/installation"
	"github.com/bulkhead-k8s/bulkhead/components/auditreport"
)

// printAuditInstallation prints an Installation with the settings of all findings. The comments
// above it say which finding each setting is for, and what no setting solves.
func printAuditInstallation(out io.Writer, base auditBase, findings []auditreport.Entry) error {
	config, skipped, err := auditreport.Merge(base.config, base.profilePolicy, findings)
	if err != nil {
		return err
	}
	text, err := config.Marshal()
	if err != nil {
		return err
	}
	file := auditComments(findings, skipped) + string(text)
	if _, err := installation.Parse([]byte(file)); err != nil {
		return fmt.Errorf("cannot add the settings to the Installation: %w; add those of `bulkhead audit` by hand", err)
	}
	_, err = io.WriteString(out, file)
	return err
}

func auditComments(findings []auditreport.Entry, skipped []string) string {
	var set, rest []string
	for _, e := range findings {
		step := e.Setting.Remedy
		if len(e.Setting.Fields) > 0 {
			step = "" // Remedy is another solution than the setting
		}
		by := fmt.Sprintf("(%s of %s)", countOf(e.Requests, "request"), usersOf(e))
		if len(e.Nodes) > 0 {
			by = fmt.Sprintf("(%s of %s; reported by nodes: %s)", countOf(e.Requests, "request"), usersOf(e), nodesOf(e))
		}
		for _, f := range e.Setting.Fields {
			if isSkipped(skipped, e, f) {
				continue
			}
			line := fmt.Sprintf("%s: %s %s", e.Rule, f, by)
			if e.Setting.Incomplete {
				line += ". The list of keys is not complete"
			}
			set, step = append(set, line), e.Setting.Then
		}
		if step != "" {
			rest = append(rest, fmt.Sprintf("%s: %s %s", e.Rule, step, by))
		}
	}
	var b strings.Builder
	write := func(title string, lines []string) {
		if len(lines) == 0 {
			return
		}
		b.WriteString("# " + title + "\n")
		for _, line := range lines {
			b.WriteString("#   " + line + "\n")
		}
	}
	write("Settings from findings. Each allows the request to every node, also to a compromised one.", set)
	write("Not in this file. Do this before you enforce:", append(rest, skipped...))
	return b.String()
}

func isSkipped(skipped []string, e auditreport.Entry, f auditreport.Field) bool {
	start := fmt.Sprintf("%s: %s ", e.Rule, f)
	return slices.ContainsFunc(skipped, func(text string) bool { return strings.HasPrefix(text, start) })
}
