// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/components/doctor"
	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
)

// flagValues are the values that a shell completes, by flag.
var flagValues = map[string][]string{
	"profile":            {string(controlplane.Hardened), string(controlplane.Parity), string(controlplane.InTree)},
	modeFlag:             {auditMode, enforceMode},
	"beyond-upstream":    {"off", auditMode, enforceMode},
	failurePolicyFlag:    {failPolicy, ignorePolicy},
	unknownResourcesFlag: {denyUnknown, auditOnNewer},
	"fix":                append([]string{allFixes}, doctor.FixNames...),
}

// addCompletions adds the values that the shells complete to all commands. cobra adds the command
// completion, which prints the scripts for bash, zsh and fish.
func addCompletions(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		addCompletions(cmd)
		for name, values := range flagValues {
			if cmd.Flags().Lookup(name) != nil {
				_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
			}
		}
		if cmd.Flags().Lookup("rule-mode") != nil {
			_ = cmd.RegisterFlagCompletionFunc("rule-mode", completeRuleModes)
		}
	}
}

// completeRuleModes completes the last of several ID=MODE. After the "=", it completes the mode.
func completeRuleModes(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	before, last := "", begun
	if at := strings.LastIndex(begun, ","); at >= 0 {
		before, last = begun[:at+1], begun[at+1:]
	}
	var found []cobra.Completion
	if id, _, chosen := strings.Cut(last, "="); chosen {
		for _, mode := range flagValues["beyond-upstream"] {
			found = append(found, before+id+"="+mode)
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
	for _, rule := range allRules() {
		if strings.HasPrefix(string(rule.ID), strings.ToUpper(last)) {
			found = append(found, before+string(rule.ID)+"=")
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
