// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/bulkhead-k8s/bulkhead/components/machinetable"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
)

func newNodeLabelsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "node-labels",
		Short:   "Set the labels of nodes centrally",
		Example: "  bulkhead node-labels apply --dry-run",
	}
	cmd.AddCommand(newNodeLabelsApplyCommand())
	return cmd
}

func newNodeLabelsApplyCommand() *cobra.Command {
	var (
		common hostFlags
		file   string
		dryRun bool
	)
	cmd := &cobra.Command{
		Use:   "apply [NODE...]",
		Short: "Set the labels of Nodes from the machine table",
		Long: `Apply reads the machine table of the configuration. It sets the labels of each Node, or
of the named Nodes, to those of its row. It does not change labels that the table does
not name. A second run changes nothing.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if file == "" {
				file = common.layout.RestrictionPolicy()
			}
			policy, err := readPolicy(file)
			if err != nil {
				return err
			}
			_, client, err := common.connect()
			if err != nil {
				return err
			}
			a := labelling{client: client.Kubernetes, policy: policy, out: cmd.OutOrStdout(), dryRun: dryRun}
			return a.apply(cmd.Context(), args)
		},
		Example: "  bulkhead node-labels apply --config=configuration.yaml --dry-run\n" +
			"  bulkhead node-labels apply worker-1",
	}
	common.add(cmd.Flags())
	cmd.Flags().StringVar(&file, "config", "",
		"The configuration with the machine table. Without this flag, the one of the installation on this host.")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "Print what would change, and change nothing.")
	return cmd
}

func readPolicy(file string) (*configuration.Configuration, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the configuration (--config): %w", err)
	}
	policy, err := configuration.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("configuration %s: %w", file, err)
	}
	return policy, nil
}

// labelling sets the labels of a policy on Nodes.
type labelling struct {
	client kubernetes.Interface
	policy *configuration.Configuration
	out    io.Writer
	dryRun bool
}

// apply continues after a Node that cannot be labelled.
func (l labelling) apply(ctx context.Context, names []string) error {
	nodes, err := l.nodes(ctx, names)
	problems := []error{err}
	changed := false
	for i := range nodes {
		missing := machinetable.Labels(&nodes[i], l.policy.LabelsFor(nodes[i].Name))
		if len(missing) == 0 {
			continue
		}
		changed = true
		if err := l.label(ctx, &nodes[i], missing); err != nil {
			problems = append(problems, fmt.Errorf("cannot label node %s: %w", nodes[i].Name, err))
		}
	}
	if !changed && err == nil {
		_, _ = fmt.Fprintln(l.out, "all labels are as the machine table has them")
	}
	return errors.Join(problems...)
}

// nodes returns the named Nodes, or all Nodes if names is empty.
func (l labelling) nodes(ctx context.Context, names []string) ([]corev1.Node, error) {
	if len(names) == 0 {
		list, err := l.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		return list.Items, nil
	}
	var (
		nodes    []corev1.Node
		problems []error
	)
	for _, name := range names {
		node, err := l.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			problems = append(problems, err)
			continue
		}
		nodes = append(nodes, *node)
	}
	return nodes, errors.Join(problems...)
}

// label patches exactly the Node that was read. If another Node has this name now, its UID differs
// and the API server rejects the patch.
func (l labelling) label(ctx context.Context, node *corev1.Node, missing map[string]string) error {
	if !l.dryRun {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": node.UID, "labels": missing}})
		if err != nil {
			return err
		}
		if _, err := l.client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch,
			metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(missing)) {
		was := ""
		if value, set := node.Labels[key]; set {
			was = fmt.Sprintf(" (was %q)", value)
		}
		_, _ = fmt.Fprintf(l.out, "%s: %s=%s%s\n", node.Name, key, missing[key], was)
	}
	return nil
}
