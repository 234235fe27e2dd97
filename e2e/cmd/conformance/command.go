// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/components/conformanceflags"
	"github.com/bulkhead-k8s/bulkhead/components/isolationreport"
)

const help = `Conformance runs Bulkhead's end-to-end suites against a cluster, and reports which rules the
cluster enforces. The cluster may run Bulkhead, the in-tree authorizers alone, or something else.

What it needs: credentials of an administrator who may impersonate users.
What it does: it creates namespaces, Nodes without a kubelet, pods, service accounts and RBAC
objects. Their names begin with e2e-. It removes them at the end, also after Ctrl-C. It changes no
other object. Do not let two runs use one cluster at the same time.
What it cannot check is "not applicable", with a reason: specs that need a shell on the hosts of
nodes (see --node-exec), and specs that would disturb the whole cluster.

It writes three files to the output directory: report.html, one page for a browser; report.yaml
(kind NodeIsolationReport); and report.junit.xml. A whole run takes 5 to 20 minutes.

The subcommand completion prints a script for bash, zsh, fish or powershell, which completes the
flags.

` + conformanceflags.ExitCodes

// options are the flags of the command.
type options = conformanceflags.Options

func newCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "bulkhead-conformance",
		Short: "Report which rules a cluster enforces",
		Long:  help,
		Example: `  bulkhead-conformance --kubeconfig=admin.conf
  bulkhead-conformance --context=staging --node-exec='ssh root@{node}' --output-dir=report
  bulkhead-conformance --suites=nodeauthorizer,noderestriction
  source <(bulkhead-conformance completion bash)`,
		Version:       isolationreport.ProgramVersion(),
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			return run(cmd.Context(), cmd.OutOrStdout(), o)
		},
	}
	o.AddTo(cmd.Flags())
	conformanceflags.AddCompletions(cmd)
	// Without this, a description of a flag is one long line.
	cmd.SetUsageTemplate(strings.ReplaceAll(cmd.UsageTemplate(), "Flags.FlagUsages ", "Flags.FlagUsagesWrapped 100 "))
	return cmd
}
