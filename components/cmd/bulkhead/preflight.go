// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/components/install/preflight"
)

// newPreflightCommand has the flags of `bulkhead install`, so that it checks exactly that
// installation.
func newPreflightCommand() *cobra.Command {
	var flags installFlags
	cmd := &cobra.Command{
		Use:   "preflight",
		Short: "List everything in this cluster that would bypass an installation",
		Long: `Preflight checks kube-apiserver's flags and version, the RBAC grants of nodes, and this
host. It also looks for what the installation would deny: mirror pods, labels and taints
of Nodes, IPs of pods, users with nodes/proxy, programs that use 127.0.0.1:10250, clients
with old tokens, and Windows nodes. Each finding names the setting that solves it. It
changes nothing. It fails if a check fails. Use it with the flags of bulkhead install.`,
		Example: "  bulkhead preflight --config=bulkhead.yaml\n" +
			"  bulkhead preflight --profile=hardened --node-scope",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options, err := flags.resolve(cmd.Flags(), cmd.InOrStdin(), cmd.OutOrStdout())
			if err != nil {
				return err
			}
			progress := startProgress(cmd.ErrOrStderr())
			progress.step("the cluster", 0, 1)
			findings, err := flags.findings(cmd.Context(), options)
			progress.stop()
			if err := preflight.Print(cmd.OutOrStdout(), findings); err != nil {
				return err
			}
			if err != nil {
				return err
			}
			if preflight.Failed(findings) {
				return fmt.Errorf("a check of profile %s failed: see FAIL above", options.Profile)
			}
			return nil
		},
	}
	flags.add(cmd.Flags())
	return cmd
}
