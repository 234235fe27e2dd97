// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/install/preflight"
	"github.com/bulkhead-k8s/bulkhead/components/install/scope"
)

func newPreflightCommand() *cobra.Command {
	var (
		common       hostFlags
		name, policy string
		nodeScope    bool
	)
	cmd := &cobra.Command{
		Use:   "preflight",
		Short: "List everything in this cluster that would bypass a profile",
		Long: `Preflight checks kube-apiserver's flags and version, the RBAC grants of nodes, the
mirror pods that would be denied, the users with nodes/proxy, and this host. It changes
nothing. It fails if a check fails.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			profile, err := controlplane.ParseProfile(name)
			if err != nil {
				return err
			}
			options := controlplane.Options{Profile: profile}
			if options.NodeScope, err = common.nodeScope(cmd.Flags(), profile, scope.Options{On: nodeScope}); err != nil {
				return err
			}
			if options.Policy, err = common.policy(cmd.Flags(), policy); err != nil {
				return err
			}
			if options.KubeletAPI, err = common.kubeletAPI(cmd.Flags(), true); err != nil {
				return err
			}
			findings, err := common.findings(cmd.Context(), options)
			if err := preflight.Print(cmd.OutOrStdout(), findings); err != nil {
				return err
			}
			if err != nil {
				return err
			}
			if preflight.Failed(findings) {
				return fmt.Errorf("a check of profile %s failed: see FAIL above", profile)
			}
			return nil
		},
	}
	common.add(cmd.Flags())
	cmd.Flags().StringVar(&name, "profile", string(controlplane.Hardened), "The profile to check: hardened or parity.")
	cmd.Flags().BoolVar(&nodeScope, nodeScopeFlag, false,
		"Check an installation with --node-scope. Without this flag, the value of the last install.")
	cmd.Flags().StringVar(&policy, policyFlag, "",
		"The file for the same flag of bulkhead install. Mirror pods are checked against it. Without this flag, against the "+
			"configuration that bulkhead install would use.")
	return cmd
}
