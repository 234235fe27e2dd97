// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/nodehistory"
)

func newTaintsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "taints",
		Short: "Show and clear the stored sticky taints of nodes",
		Example: "  bulkhead taints list\n" +
			"  bulkhead taints clear worker-1",
	}
	cmd.AddCommand(newTaintsListCommand(), newTaintsClearCommand())
	return cmd
}

func newTaintsListCommand() *cobra.Command {
	var common hostFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Show the taints that a node must have when it registers",
		Long: `List shows the stored taints of each node, for the sticky keys of the configuration.
If a Node was deleted, the node can register again only with these taints.`,
		Example: "  bulkhead taints list",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, client, err := common.connect()
			if err != nil {
				return err
			}
			return listTaints(cmd.Context(), cmd.OutOrStdout(), client.Kubernetes)
		},
	}
	common.add(cmd.Flags())
	return cmd
}

func listTaints(ctx context.Context, out io.Writer, client kubernetes.Interface) error {
	entries, err := nodehistory.List(ctx, client)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		_, err := fmt.Fprintln(out, "no taints are stored")
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "NODE\tTAINT\tNOTE")
	for _, entry := range entries {
		if entry.Unreadable {
			_, _ = fmt.Fprintf(table, "%s\t?\tthe record cannot be read: clear it\n", entry.Node)
		}
		for _, taint := range entry.Taints {
			note := ""
			if slices.Contains(entry.Absent, taint) {
				note = "the Node was registered without it"
			}
			_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", entry.Node, taint.ToString(), note)
		}
	}
	return table.Flush()
}

func newTaintsClearCommand() *cobra.Command {
	var common hostFlags
	cmd := &cobra.Command{
		Use:   "clear NODE [KEY]",
		Short: "Remove the stored taints of a node, or those of one key",
		Long: `Clear allows a node to register again without its stored taints. It changes no Node.
To remove a taint that a Node has, use kubectl taint: that removes the stored taint, too.`,
		Example: "  bulkhead taints clear worker-1\n" +
			"  bulkhead taints clear worker-1 example.com/quarantine",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, client, err := common.connect()
			if err != nil {
				return err
			}
			key := ""
			if len(args) == 2 {
				key = args[1]
			}
			return clearTaints(cmd.Context(), cmd.OutOrStdout(), client.Kubernetes, args[0], key)
		},
	}
	common.add(cmd.Flags())
	return cmd
}

func clearTaints(ctx context.Context, out io.Writer, client kubernetes.Interface, name, key string) error {
	there, err := taintsOf(ctx, client, name)
	if err != nil {
		return err
	}
	cleared, err := nodehistory.Clear(ctx, client, name, key)
	if err != nil {
		return err
	}
	for _, taint := range cleared {
		_, _ = fmt.Fprintf(out, "removed: %s\n", taint.ToString())
		if slices.ContainsFunc(there, func(t corev1.Taint) bool { return t.MatchTaint(&taint) }) {
			_, _ = fmt.Fprintf(out,
				"  Node %s still has it, so node-restriction will store it again. To remove it: kubectl taint node %s %s:%s-\n",
				name, name, taint.Key, taint.Effect)
		}
	}
	if len(cleared) == 0 {
		_, _ = fmt.Fprintln(out, "no such taint is stored")
	}
	return nil
}

// taintsOf returns the taints of the Node. It returns none if the Node does not exist.
func taintsOf(ctx context.Context, client kubernetes.Interface, name string) ([]corev1.Taint, error) {
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return node.Spec.Taints, nil
}
