// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/components/isolationreport"
)

const help = `Conformance runs Bulkhead's end-to-end suites against a cluster, and reports which rules the cluster
enforces. The cluster may run Bulkhead, the in-tree authorizers alone, or something else.

What it needs: credentials of an administrator who may impersonate users.
What it does: it creates namespaces, Nodes without a kubelet, pods, service accounts and RBAC objects. Their
names begin with e2e-. It removes them at the end, also after Ctrl-C. It changes no other object. Do not
let two runs use one cluster at the same time.
What it cannot check is "not applicable", with a reason: specs that need a shell on the hosts of nodes (see
--node-exec), and specs that would disturb the whole cluster.

It writes three files to the output directory: report.html, one page for a browser; report.yaml (kind
NodeIsolationReport); and report.junit.xml. A whole run takes 5 to 20 minutes.

Exit codes: 0 all rules that could be checked are enforced; 1 error; 2 a rule is not enforced.`

// options are the flags of the command.
type options struct {
	kubeconfig, context string
	nodeExec            string
	output              string
	suites              []string
	procs               int
	timeout             time.Duration
}

func newCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "bulkhead-conformance",
		Short: "Report which rules a cluster enforces",
		Long:  help,
		Example: `  bulkhead-conformance --kubeconfig=admin.conf
  bulkhead-conformance --context=staging --node-exec='ssh root@{node}' --output-dir=report
  bulkhead-conformance --suites=nodeauthorizer,noderestriction`,
		Version:       isolationreport.ProgramVersion(),
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return run(cmd.Context(), cmd.OutOrStdout(), o)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.kubeconfig, "kubeconfig", "", "Credentials of an administrator. Default: $KUBECONFIG, or "+
		"~/.kube/config.")
	fs.StringVar(&o.context, "context", "", "Context in the kubeconfig. Default: the current one.")
	fs.StringVar(&o.nodeExec, "node-exec", "", "Command that runs a shell as root on the host of {node}, for example "+
		"'ssh root@{node}'. Without it, specs that need a host are not applicable.")
	fs.StringVar(&o.output, "output-dir", "bulkhead-report", "Directory for the report. It is created.")
	fs.StringSliceVar(&o.suites, "suites", nil, "Suites to run. Default: all.")
	fs.IntVar(&o.procs, "procs", 4, "Number of specs that run at the same time.")
	fs.DurationVar(&o.timeout, "timeout", time.Hour, "Longest time of the whole run.")
	return cmd
}

func (o options) validate() error {
	switch {
	case o.nodeExec != "" && !strings.Contains(o.nodeExec, "{node}"):
		return fmt.Errorf("invalid --node-exec=%q: write {node} where the name of the node belongs", o.nodeExec)
	case o.procs < 1:
		return fmt.Errorf("invalid --procs=%d: it must be 1 or more", o.procs)
	case o.timeout <= 0:
		return fmt.Errorf("invalid --timeout=%v: it must be more than 0", o.timeout)
	case o.output == "":
		return errors.New("invalid --output-dir: it is empty")
	}
	return nil
}
