// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package conformanceflags has the flags of bulkhead-conformance. `bulkhead conformance` shows and
// completes the same flags, also where bulkhead-conformance is not installed.
package conformanceflags

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"
)

// ExitCodes is the part of the help about exit codes.
const ExitCodes = `Exit code: 0 if no rule is notHeld and no attack succeeded; 2 if a rule is notHeld, or an attack
succeeded; 1 for an error or Ctrl-C, which write no report. A rule that is notProved and an attack
that is unclear do not change the exit code. The report has the reason.`

// suites are the names of the suites in bulkhead-conformance. They are folders of e2e.
var suites = []string{"attacks", "kubeletauth", "nodeauthorizer", "noderestriction", "nodescope"}

// Options are the flags.
type Options struct {
	Kubeconfig, Context string
	NodeExec            string
	Output              string
	Suites              []string
	Procs               int
	Timeout             time.Duration
}

// AddTo adds the flags to a flag set.
func (o *Options) AddTo(fs *pflag.FlagSet) {
	fs.StringVar(&o.Kubeconfig, "kubeconfig", "", "Credentials of an administrator. Default: $KUBECONFIG, or "+
		"~/.kube/config.")
	fs.StringVar(&o.Context, "context", "", "Context in the kubeconfig. Default: the current one.")
	fs.StringVar(&o.NodeExec, "node-exec", "", "Command that runs a shell as root on the host of {node}, for example "+
		"'ssh root@{node}'. Without it, specs that need a host are not applicable.")
	fs.StringVar(&o.Output, "output-dir", "bulkhead-report", "Directory for the report. It is created.")
	fs.StringSliceVar(&o.Suites, "suites", nil, "Suites to run, separated by commas: "+strings.Join(suites, ", ")+
		". Default: all.")
	fs.IntVar(&o.Procs, "procs", 4, "Number of specs that run at the same time.")
	fs.DurationVar(&o.Timeout, "timeout", time.Hour, "Longest time of the whole run.")
}

// Validate returns an error for a flag with an invalid value.
func (o *Options) Validate() error {
	switch {
	case o.NodeExec != "" && !strings.Contains(o.NodeExec, "{node}"):
		return fmt.Errorf("invalid --node-exec=%q: write {node} where the name of the node belongs", o.NodeExec)
	case o.Procs < 1:
		return fmt.Errorf("invalid --procs=%d: it must be 1 or more", o.Procs)
	case o.Timeout <= 0:
		return fmt.Errorf("invalid --timeout=%v: it must be more than 0", o.Timeout)
	case o.Output == "":
		return errors.New("invalid --output-dir: it is empty")
	}
	return nil
}

// AddCompletions adds the values that a shell completes. The command must have the flags.
func AddCompletions(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("suites", completeSuites)
	_ = cmd.RegisterFlagCompletionFunc("context", CompleteContext)
}

// CompleteContext completes the contexts of the kubeconfig. The flag --kubeconfig of the command names
// the file, if it is set.
func CompleteContext(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	loading := clientcmd.NewDefaultClientConfigLoadingRules()
	if given := cmd.Flag("kubeconfig"); given != nil && given.Changed {
		loading.ExplicitPath = given.Value.String()
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(loading, nil).RawConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.Sorted(maps.Keys(config.Contexts)), cobra.ShellCompDirectiveNoFileComp
}

// completeSuites completes the last of several names.
func completeSuites(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	before, last := "", begun
	if at := strings.LastIndex(begun, ","); at >= 0 {
		before, last = begun[:at+1], begun[at+1:]
	}
	var found []cobra.Completion
	for _, name := range suites {
		if strings.HasPrefix(name, last) {
			found = append(found, before+name)
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}
