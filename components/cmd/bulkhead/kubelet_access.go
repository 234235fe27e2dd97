// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletaccess"
)

func newKubeletAccessCommand() *cobra.Command {
	var (
		from   clusterFlags
		output string
	)
	cmd := &cobra.Command{
		Use:   "kubelet-access",
		Short: "Print which users have nodes/proxy, and which rights they lose in strict mode",
		Long: `Kubelet-access reads the cluster's ClusterRoles and ClusterRoleBindings, and prints
which users have nodes/proxy, by name or by a wildcard. The verb get is enough to run a
command in any pod of a node without kubelet-auth-proxy.

With kubelet-auth-proxy in strict mode, nodes/proxy no longer covers exec, attach, run,
port-forward, container logs and debug, nor, through the API server, metrics, stats and
log files of the node. The column LOSES IN STRICT MODE lists these rights: grant those
that a user needs. The command can run anywhere, and changes nothing.`,
		Example: "  bulkhead kubelet-access --kubeconfig=admin.conf",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := from.anywhereOrAdmin()
			if err != nil {
				return err
			}
			return printKubeletAccess(cmd.Context(), cmd.OutOrStdout(), client, output)
		},
	}
	from.addFor(cmd.Flags(), "Credentials that may read RBAC.")
	addOutputFlag(cmd, &output, "table", "json")
	return cmd
}

func printKubeletAccess(ctx context.Context, out io.Writer, client kubernetes.Interface, output string) error {
	roles, err := client.RbacV1().ClusterRoles().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("cannot list ClusterRoles: %w", err)
	}
	bindings, err := client.RbacV1().ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("cannot list ClusterRoleBindings: %w", err)
	}
	grantees := kubeletaccess.Find(kubeletaccess.Objects{Roles: roles.Items, Bindings: bindings.Items})
	if output == "json" {
		return printJSON(out, grantees)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "WHO\tVERBS ON NODES/PROXY\tBY\tLOSES IN STRICT MODE")
	for _, h := range grantees {
		verbs := strings.Join(h.Verbs, ",")
		if len(h.Nodes) > 0 {
			verbs += " of " + strings.Join(h.Nodes, ",")
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", h.Subject, verbs, strings.Join(h.Bindings, ", "), h)
	}
	return table.Flush()
}
