// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// ruleID matches a rule ID at the end of a reason. A reason may name more than one rule: node scope
// also names the rule of NodeRestriction that it applies.
var ruleID = regexp.MustCompile(`\[((?:NA|NR|NS|KA)-[A-Z0-9-]+)\]`)

func newWhyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "why MESSAGE",
		Short: "Print the rule behind the message of a denied request",
		Long: `Why prints the rule behind the message of a denied request: its ID, what it says, where it comes from, and
its mode in each profile.

Bulkhead's own denials end with the ID of a rule, for example [NR-NODESPEC-2]. Kubernetes' own NodeRestriction
plugin runs before Bulkhead's webhook and denies the best-known requests first, without an ID: why finds
the rule from its text. It asks no cluster.`,
		Example: `  bulkhead why 'nodes "a" is forbidden: node "b" is not allowed to modify node "a"'`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return explain(cmd.OutOrStdout(), strings.Join(args, " "))
		},
	}
}

// errNoRule is returned for a message that matches neither a rule of Bulkhead nor a rule that
// upstream's NodeRestriction shares with it.
var errNoRule = errors.New(
	"cannot find a rule in this message: neither Bulkhead nor the NodeRestriction plugin wrote it.\n" +
		"If it begins with \"User\", RBAC denied the request: look at the user's roles (kubectl auth can-i --list --as=USER)")

func explain(out io.Writer, message string) error {
	message = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(message), "Error from server (Forbidden): "))
	ids, by := namedRules(message), "Bulkhead"
	if len(ids) == 0 {
		if id := noderestriction.RuleOfUpstream(message); id != "" {
			ids, by = []rules.ID{id}, "Kubernetes' own NodeRestriction plugin, which decides like this rule"
		}
	}
	if len(ids) == 0 {
		return errNoRule
	}
	all := allRules()
	for i, id := range ids {
		place := slices.IndexFunc(all, func(r rules.Rule) bool { return r.ID == id })
		if place < 0 {
			return fmt.Errorf("cannot explain %s: this version of bulkhead does not have the rule; use the version that is "+
				"installed", id)
		}
		if i > 0 {
			_, _ = fmt.Fprintln(out)
		}
		printRule(out, all[place], by)
	}
	return nil
}

// namedRules returns the IDs in the message, each once.
func namedRules(message string) []rules.ID {
	var ids []rules.ID
	for _, match := range ruleID.FindAllStringSubmatch(message, -1) {
		if id := rules.ID(match[1]); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func printRule(out io.Writer, r rules.Rule, by string) {
	_, _ = fmt.Fprintf(out,
		"Rule:        %s\nDenied by:   %s\nDescription: %s\nSource:      %s\nHardened:    %s\nParity:      %s\n",
		r.ID, by, r.Description, r.Source, defaultIn(controlplane.Hardened, r), defaultIn(controlplane.Parity, r))
	if r.Optional {
		_, _ = fmt.Fprintf(out, "To change:   bulkhead install --rule-mode=%s=audit (or off)\n", r.ID)
	}
}
