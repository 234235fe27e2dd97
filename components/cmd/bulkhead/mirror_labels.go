// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
)

func newMirrorLabelsCommand() *cobra.Command {
	var common hostFlags
	cmd := &cobra.Command{
		Use:   "mirror-labels",
		Short: "Print the annotations that allow the static pods of this cluster",
		Long: `Mirror-labels lists the mirror pods of all nodes. For each namespace with mirror pods
it prints a kubectl command that allows them and their label keys. It changes nothing.
Check the commands before you run them: a compromised node may have added labels to a
mirror pod.`,
		Example: "  bulkhead mirror-labels",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, client, err := common.connect()
			if err != nil {
				return err
			}
			pods, err := client.MirrorPods(cmd.Context())
			if err != nil {
				return err
			}
			return printMirrorLabels(cmd.OutOrStdout(), pods)
		},
	}
	common.add(cmd.Flags())
	return cmd
}

func printMirrorLabels(out io.Writer, pods []corev1.Pod) error {
	keys := map[string]map[string]bool{}
	for i := range pods {
		namespace := pods[i].Namespace
		if keys[namespace] == nil {
			keys[namespace] = map[string]bool{}
		}
		for key := range pods[i].Labels {
			keys[namespace][key] = true
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(keys)) {
		_, err := fmt.Fprintf(out, "kubectl annotate namespace %s --overwrite %s=true %s=%s\n", namespace,
			controlplane.MirrorAllowed, controlplane.MirrorLabelKeys,
			strings.Join(slices.Sorted(maps.Keys(keys[namespace])), ","))
		if err != nil {
			return err
		}
	}
	return nil
}
