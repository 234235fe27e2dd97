// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/components/install"
	"github.com/bulkhead-k8s/bulkhead/components/install/preflight"
)

func newPreflightCommand() *cobra.Command {
	var (
		host         hostFlags
		name, policy string
		nodeScope    bool
	)
	cmd := &cobra.Command{
		Use:   "preflight",
		Short: "Name what would defeat a profile in this cluster",
		Long: `Preflight looks at kube-apiserver's flags and version, at what RBAC gives to nodes,
at the mirror pods that would be refused, at who holds nodes/proxy, and at this host. It changes nothing. It
fails if a profile would not keep its promise here.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			profile, err := install.ParseProfile(name)
			if err != nil {
				return err
			}
			options := install.Options{Profile: profile}
			if options.NodeScope, err = host.nodeScope(cmd.Flags(), profile, install.NodeScope{On: nodeScope}); err != nil {
				return err
			}
			if options.Policy, err = host.policy(cmd.Flags(), policy); err != nil {
				return err
			}
			if options.KubeletAPI, err = host.kubeletAPI(cmd.Flags(), true); err != nil {
				return err
			}
			findings, err := host.findings(cmd.Context(), options)
			if err := preflight.Print(cmd.OutOrStdout(), findings); err != nil {
				return err
			}
			if err != nil {
				return err
			}
			if preflight.Failed(findings) {
				return fmt.Errorf("profile %s would not keep its promise here: see FAIL above", profile)
			}
			return nil
		},
	}
	host.add(cmd.Flags())
	cmd.Flags().StringVar(&name, "profile", string(install.Hardened), "The profile to judge: hardened or parity.")
	cmd.Flags().BoolVar(&nodeScope, nodeScopeFlag, false,
		"Judge an installation with --node-scope. Without this flag, what the last install was told.")
	cmd.Flags().StringVar(&policy, policyFlag, "",
		"The file that bulkhead install is to be given by this flag. Mirror pods are judged by it; without it, by what an "+
			"installation without it would have node-restriction read.")
	return cmd
}
