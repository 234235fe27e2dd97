// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/spf13/cobra"
)

func newUninstallCommand() *cobra.Command {
	var (
		common  hostFlags
		timeout time.Duration
	)
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Restore kube-apiserver and remove Bulkhead from this host",
		Long: `Uninstall restores kube-apiserver's manifest byte for byte, waits until the API server
is healthy, and removes Bulkhead's files. It also works if Bulkhead's components do not
run. You can repeat it until it succeeds.

If another program has changed the manifest since (kubeadm upgrade does), uninstall
removes Bulkhead's edits from it and keeps the rest.

If Bulkhead runs on another control-plane host, uninstall keeps what the hosts share:
RBAC, the stored taints of node-restriction, and the annotations of kube-system. But it
removes Bulkhead's lines from the ConfigMap kubeadm-config first, because this host loses
the files that they name.`,
		Example: "  bulkhead uninstall",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			installer, err := common.installer(cmd.OutOrStdout())
			if err != nil {
				return err
			}
			return installer.Uninstall(cmd.Context(), timeout)
		},
	}
	common.add(cmd.Flags())
	cmd.Flags().DurationVar(&timeout, "timeout", 3*time.Minute,
		"Maximum time until the API server is healthy.")
	return cmd
}
