// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

func newScopeListCommand() *cobra.Command {
	var (
		from   clusterFlags
		output string
	)
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Show every account with a scope, and whether the scope is enforced",
		Long: `List shows the ServiceAccounts with the annotation bulkhead.dev/node-scoped-resources, and
those of pods with this annotation.

AUTHORIZATION and ADMISSION show whether the scope is enforced. They are live when every
API server of the cluster sends the requests of the account to node scope, and
node-authorizer or node-restriction on its host has seen the current annotations. Before
that, they are pending. An account is protected only if both are live.

OLDER PODS is the number of pods that were created before that. The API server authorizes
a watch only when it begins, so a watch of such a pod can continue. Restart these pods to
limit them as well.

A line below the table names each annotated account without pods: its name may be wrong,
and then the pods that you want to limit have no scope.

The command can run anywhere, and changes nothing.`,
		Example: "  bulkhead scope list --kubeconfig=admin.conf\n" +
			"  bulkhead scope list -o json",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := from.anywhereOrAdmin()
			if err != nil {
				return err
			}
			progress := startProgress(cmd.ErrOrStderr())
			defer progress.stop()
			progress.step("the accounts and pods of the cluster", 0, 1)
			return printScopes(cmd.Context(), cmd.OutOrStdout(), client, output, time.Now())
		},
	}
	from.addFor(cmd.Flags(), "Credentials that may read ServiceAccounts, pods, nodes, and ConfigMaps of kube-system.")
	addOutputFlag(cmd, &output, "table", "json")
	return cmd
}

func (f *clusterFlags) anywhereConfig() (*rest.Config, error) {
	config, err := f.loader().ClientConfig()
	if err != nil {
		return nil, err
	}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return config, nil
}

func printScopes(ctx context.Context, out io.Writer, client kubernetes.Interface, output string, now time.Time) error {
	hosts, err := scopeHosts(ctx, client, now)
	if err != nil {
		return err
	}
	accounts, err := scopeAccounts(ctx, client, hosts)
	if err != nil {
		return err
	}
	if output == "json" {
		return printJSON(out, map[string]any{"accounts": accounts, "hosts": hosts})
	}
	return scopeTable(out, accounts, hosts)
}

func scopeTable(out io.Writer, accounts []scopedAccount, hosts []scopeHost) error {
	if len(accounts) == 0 {
		_, _ = fmt.Fprintln(out, "no account has a scope")
	} else {
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(table, "NAMESPACE\tSERVICEACCOUNT\tRESOURCES\tMODE\tAUTHORIZATION\tADMISSION\tOLDER PODS")
		for _, a := range accounts {
			_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
				a.Namespace, a.ServiceAccount, shortCell(webhook.Loggable(a.Resources)), a.Mode, a.Authorization, a.Admission,
				countOrNone(a.OlderPods))
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	for _, a := range accounts {
		if a.Unused {
			_, _ = fmt.Fprintf(out, "%s/%s: no pod runs as this account: compare its name with spec.serviceAccountName of "+
				"the pods that it is for\n", a.Namespace, a.ServiceAccount)
		}
	}
	for _, h := range hosts {
		if h.Problem != "" {
			_, _ = fmt.Fprintf(out, "%s: %s\n", webhook.Loggable(h.Node), webhook.Loggable(h.Problem))
		}
	}
	return nil
}

func countOrNone(n *int) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(*n)
}

// shortCell shortens a value that is too long for a table. -o json prints it in full.
func shortCell(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

func newScopeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "scope",
		Short:   "Show the accounts with a node scope, and find a scope for an account",
		Example: "  bulkhead scope list",
	}
	cmd.AddCommand(newScopeListCommand(), newScopeSuggestCommand())
	return cmd
}
