// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/rulebook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
	"github.com/bulkhead-k8s/bulkhead/components/why"
)

const rulesHelp = `Rules prints every rule: what a node may do, and what a user may do at a kubelet's API.
Each has an ID, which is at the end of the reason of a denial, and a source.
An optional rule has a default mode in each profile.

With an ID it prints one rule in full: its description, source and modes, what it needs, how to
allow an exception, and some of its end-to-end specs. -o yaml and -o json print all specs.

With a PATTERN it prints all rules whose ID matches. Letter case does not matter, and * stands for
any text. Without *, the pattern is the beginning of IDs, up to a dash: NR-LABEL matches NR-LABEL-1
and NR-LABEL-2, but NR-LAB matches nothing.

With --live, --kubeconfig or --context it also prints the mode in that cluster. For one rule it
tries the cluster of the default kubeconfig for two seconds, unless --live=false is given.`

// rulesCommand has the flags of `bulkhead rules`.
type rulesCommand struct {
	clusterFlags
	live   bool
	output string
}

func newRulesCommand() *cobra.Command {
	var c rulesCommand
	cmd := &cobra.Command{
		Use:   "rules [ID | PATTERN]",
		Short: "Print every rule of Bulkhead, or one in full",
		Long:  rulesHelp,
		Example: `  bulkhead rules
  bulkhead rules NR-LABEL-1
  bulkhead rules '*-LABEL-*'
  bulkhead rules NR-LABEL -o wide --live`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeRule,
		RunE:              c.run,
	}
	c.add(cmd.Flags())
	cmd.Flags().BoolVar(&c.live, "live", false, "Also print the modes in the cluster of the default kubeconfig.")
	addOutputFlag(cmd, &c.output, "table", "wide", "yaml", "json", "markdown")
	return cmd
}

func (c *rulesCommand) run(cmd *cobra.Command, args []string) error {
	all := allRules()
	if len(args) == 1 {
		var err error
		if all, err = rulebook.Match(args[0]); err != nil {
			return suggestPattern(args[0], err)
		}
	}
	var here *rulebook.Here
	switch {
	case c.live || c.given():
		var err error
		if here, err = c.here(cmd.Context()); err != nil {
			return err
		}
	case len(args) == 1 && len(all) == 1 && c.output == "table" && !cmd.Flags().Changed("live"):
		return printQuick(cmd.OutOrStdout(), all[0], c.quickHere(cmd.Context()))
	}
	return printRules(cmd.OutOrStdout(), c.output, all, len(args) == 1, here)
}

// completeRule completes an ID in the shell.
func completeRule(_ *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var found []cobra.Completion
	for _, r := range allRules() {
		if strings.HasPrefix(string(r.ID), strings.ToUpper(begun)) {
			found = append(found, cobra.CompletionWithDesc(string(r.ID), r.Description))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// allRules returns the rules of all components.
func allRules() []rules.Rule { return rulebook.All() }

// printRules prints the rules. selected is true if the user has named them: then they are printed in
// full where the format allows it. here may be nil.
func printRules(out io.Writer, format string, all []rules.Rule, selected bool, here *rulebook.Here) error {
	switch {
	case format == "table" && selected && len(all) == 1:
		return printRule(out, why.Full(all[0], here))
	case format == "table":
		return rulesTable(out, all, here)
	case format == "wide":
		return rulesWide(out, all, here)
	case format == "markdown":
		return rulesMarkdown(out, all)
	case !selected && here == nil && format == "json":
		return printStructured(out, format, jsonRules(all))
	}
	full := make([]why.FullRule, 0, len(all))
	for _, r := range all {
		full = append(full, why.Full(r, here))
	}
	return printStructured(out, format, full)
}

func rulesTable(out io.Writer, all []rules.Rule, here *rulebook.Here) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	header := "RULE\tHARDENED\tPARITY\tDESCRIPTION"
	if here != nil {
		header = "RULE\tHERE\tHARDENED\tPARITY\tDESCRIPTION"
	}
	_, _ = fmt.Fprintln(table, header)
	for _, r := range all {
		columns := []string{string(r.ID), rulebook.DefaultIn(controlplane.Hardened, r),
			rulebook.DefaultIn(controlplane.Parity, r), r.Description}
		if here != nil {
			columns = slices.Insert(columns, 1, here.Mode(r))
		}
		_, _ = fmt.Fprintln(table, strings.Join(columns, "\t"))
	}
	return table.Flush()
}

// rulesWide prints all that fits on one line.
func rulesWide(out io.Writer, all []rules.Rule, here *rulebook.Here) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "RULE\tHERE\tHARDENED\tPARITY\tSPECS\tNEEDS\tSOURCE\tDESCRIPTION")
	for _, r := range all {
		full := why.Full(r, here)
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", r.ID, cmp.Or(full.Here, "-"), full.Hardened,
			full.Parity, len(full.Specs), cmp.Or(full.Needs, "-"), full.Source, full.Description)
	}
	return table.Flush()
}

type jsonRule struct {
	ID          rules.ID `json:"id"`
	Description string   `json:"description"`
	// Promise is the former name of Description.
	Promise   string `json:"promise"`
	Source    string `json:"source"`
	Extension bool   `json:"extension"`
	Optional  bool   `json:"optional"`
	// Configured is true for a rule that only the operator's configuration enables.
	Configured bool `json:"configured,omitempty"`
	// Defaults are the default modes of an optional rule, by profile.
	Defaults map[controlplane.Profile]string `json:"defaults,omitempty"`
}

func jsonRules(all []rules.Rule) []jsonRule {
	list := make([]jsonRule, 0, len(all))
	for _, r := range all {
		printed := jsonRule{ID: r.ID, Description: r.Description, Promise: r.Description, Source: r.Source,
			Extension: r.Extension, Optional: r.Optional, Configured: r.Configured}
		if r.Optional {
			printed.Defaults = map[controlplane.Profile]string{
				controlplane.Hardened: rulebook.DefaultIn(controlplane.Hardened, r),
				controlplane.Parity:   rulebook.DefaultIn(controlplane.Parity, r),
			}
		}
		list = append(list, printed)
	}
	return list
}
