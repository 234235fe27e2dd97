// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/components/internal/version"
)

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "bulkhead",
		Short: "Keep one compromised node from becoming a compromised cluster",
		Long: `bulkhead installs Bulkhead in a kubeadm cluster: an authorizer for the requests of nodes,
an admission webhook for their writes, and a proxy for the API of the kubelets. It renews
their certificates, and can remove everything again. It also shows and explains their
decisions.

Commands that change a host run as root on that host. The others run anywhere, with a
kubeconfig.

Exit code: 0 for success, 1 for an error or Ctrl-C. If a command also has the exit
code 2, its help says what it means.`,
		// kubectl runs a plugin under a name of its own, and help texts use the user's words.
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: programName()},
		SilenceUsage:  true,
		SilenceErrors: true,
		Example: "  bulkhead preflight --profile=hardened\n" +
			"  bulkhead install --config=bulkhead.yaml\n" +
			"  bulkhead doctor --kubeconfig=admin.conf\n" +
			"  source <(bulkhead completion bash)",
	}
	root.AddCommand(
		newInstallCommand(),
		newUninstallCommand(),
		newConfigCommand(),
		newPrepareCommand(),
		newPreflightCommand(),
		newStatusCommand(),
		newDoctorCommand(),
		newNodeCommand(),
		newAuditCommand(),
		newKubeletAccessCommand(),
		newMirrorLabelsCommand(),
		newTaintsCommand(),
		newScopeCommand(),
		newNodeLabelsCommand(),
		newRevokeCommand(),
		newCertsCommand(),
		newReportCommand(),
		newRulesCommand(),
		newWhyCommand(),
		newConformanceCommand(),
		newVersionCommand(),
	)
	addCompletions(root)
	nameInExamples(root, programName())
	addCompletionCommand(root) // its scripts are for the name bulkhead
	// Without this, a description of a flag is one long line.
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "Flags.FlagUsages ", "Flags.FlagUsagesWrapped 100 "))
	return root
}

// exampleRun is the beginning of a command of this program in an example.
var exampleRun = regexp.MustCompile(`(?m)(^ +|\| )bulkhead `)

// nameInExamples writes the examples of all commands with the name by which the user calls the program.
func nameInExamples(cmd *cobra.Command, name string) {
	cmd.Example = exampleRun.ReplaceAllString(cmd.Example, "${1}"+name+" ")
	for _, sub := range cmd.Commands() {
		nameInExamples(sub, name)
	}
}

// programName returns how the user calls the program: kubectl runs its plugins as kubectl-NAME.
func programName() string {
	if name := filepath.Base(os.Args[0]); name == "kubectl-bulkhead" {
		return "kubectl bulkhead"
	}
	return "bulkhead"
}

// buildVersion returns the version from the linker flags, or "dev" without them.
func buildVersion() string { return version.Get().Version }

// commitTime returns the time of the commit of this program, or "" if it is not known.
func commitTime() string {
	date := version.Get().BuildDate
	if _, err := time.Parse(time.RFC3339, date); err != nil {
		return ""
	}
	return date
}
