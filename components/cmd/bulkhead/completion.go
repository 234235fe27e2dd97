// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/components/conformanceflags"
	"github.com/bulkhead-k8s/bulkhead/components/doctor"
	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
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

// completionExamples load the scripts, by shell.
var completionExamples = map[string]string{
	"bash": "  source <(bulkhead completion bash)\n  bulkhead completion bash > /etc/bash_completion.d/bulkhead",
	"zsh":  "  source <(bulkhead completion zsh)\n  bulkhead completion zsh > \"${fpath[1]}/_bulkhead\"",
	"fish": "  bulkhead completion fish | source\n" +
		"  bulkhead completion fish > ~/.config/fish/completions/bulkhead.fish",
	"powershell": "  bulkhead completion powershell | Out-String | Invoke-Expression",
}

// addCompletionCommand adds cobra's command completion, which prints the scripts of the shells. cobra would
// add it later, without examples.
func addCompletionCommand(root *cobra.Command) {
	root.SetOut(laterOutput{root}) // cobra keeps the output of this moment
	root.InitDefaultCompletionCmd()
	root.SetOut(nil)
	completion, _, err := root.Find([]string{"completion"})
	if err != nil {
		return
	}
	completion.Example = "  source <(bulkhead completion bash)\n  bulkhead completion zsh --help"
	for _, shell := range completion.Commands() {
		shell.Example = completionExamples[shell.Name()]
	}
}

// laterOutput writes to the output that the command has at that time.
type laterOutput struct{ of *cobra.Command }

func (o laterOutput) Write(p []byte) (int, error) { return o.of.OutOrStdout().Write(p) }

// addCompletions adds the values that the shells complete to all commands.
func addCompletions(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		addCompletions(cmd)
		for name, values := range flagValues {
			if cmd.Flags().Lookup(name) != nil {
				_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
			}
		}
		if cmd.Flag(contextFlag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(contextFlag, conformanceflags.CompleteContext)
		}
		if cmd.Flags().Lookup(ruleModeFlag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(ruleModeFlag, completeRuleModes)
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
		for _, mode := range append([]string{defaultMode}, flagValues["beyond-upstream"]...) {
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

// questionWords are what a shell completes in `bulkhead why USER VERB RESOURCE`, by the place of the word.
var questionWords = [][]cobra.Completion{
	{nodeidentity.Prefix, "system:serviceaccount:"},
	{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"},
	{"pods", "pods/status", "pods/eviction", "pods/exec", "pods/log", "nodes", "nodes/status", "nodes/proxy", "secrets",
		"configmaps", "serviceaccounts", "serviceaccounts/token", "persistentvolumeclaims", "persistentvolumeclaims/status",
		"persistentvolumes", "services", "endpoints", "events", "leases.coordination.k8s.io", "csinodes.storage.k8s.io",
		"csidrivers.storage.k8s.io", "volumeattachments.storage.k8s.io", "resourceclaims.resource.k8s.io",
		"resourceslices.resource.k8s.io", "podcertificaterequests.certificates.k8s.io",
		"certificatesigningrequests.certificates.k8s.io", "clustertrustbundles.certificates.k8s.io",
		"runtimeclasses.node.k8s.io"},
}

// completeQuestion completes the words of a question. Names of objects would need a request.
func completeQuestion(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) >= len(questionWords) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	directive := cobra.ShellCompDirectiveNoFileComp
	if len(args) == 0 {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	return questionWords[len(args)], directive
}
