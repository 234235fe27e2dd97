// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/spf13/cobra"

func newScopeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "scope",
		Short: "Show which accounts are held to the nodes of their pods, and find out which scope one could have",
	}
	cmd.AddCommand(newScopeListCommand(), newScopeSuggestCommand())
	return cmd
}
