// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/spf13/cobra"
)

func newUninstallCommand() *cobra.Command {
	var (
		host    hostFlags
		timeout time.Duration
	)
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Put kube-apiserver back to what it was and remove everything of ours",
		Long: `Uninstall restores kube-apiserver's manifest byte for byte, waits until the API
server serves as it did, and removes everything of ours. It works with our
components dead, and can be run again until it succeeds.

If somebody else has changed the manifest since (kubeadm upgrade does), our edits
are taken out of it and the rest is kept.

While our components run on another control-plane host, what the hosts share stays:
their RBAC, the memory of node-restriction, the annotations of kube-system, and our
lines in the ConfigMap kubeadm-config.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			installer, err := host.installer(cmd.OutOrStdout())
			if err != nil {
				return err
			}
			return installer.Uninstall(cmd.Context(), timeout)
		},
	}
	host.add(cmd.Flags())
	cmd.Flags().DurationVar(&timeout, "timeout", 3*time.Minute,
		"How long the API server may take to serve as it did before the command fails.")
	return cmd
}
