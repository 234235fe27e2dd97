// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopesync"
)

const description = `Keeps one kube-apiserver asking about the accounts that have a scope.

It watches ServiceAccounts and pods, and puts the names of those that are annotated
with bulkhead.dev/node-scoped-resources, and nobody else, into two files of the API
server on this host: an entry of its authorization configuration, and a webhook that
it has from disk. Nothing else in these files changes, and nothing is written that
the API server would not load. What it has loaded, the API server says in its metrics;
an account is "live" from then on, and "pending" until then (bulkhead scope list).

It listens nowhere. While it is dead, or cannot read the cluster, the lists stay as
they are. Certificates and the kubeconfig are read again when they change.`

// newCommand returns the command. It calls run with a valid configuration.
func newCommand(run func(context.Context, *config) error) *cobra.Command {
	o := defaultOptions()
	command := program.NewCommand("scope-sync", description, o.flags(), o.config, run)
	command.AddCommand(newCheckCommand())
	return command
}

const checkDescription = `Checks how a scope-sync on this host is, by the file that it touches every two
seconds. The probes of its pod run this: there is no port that they could ask.`

func newCheckCommand() *cobra.Command {
	path, maxAge, ready := defaultHeartbeat, time.Minute, false
	var sections cliflag.NamedFlagSets
	fs := sections.FlagSet("check")
	fs.StringVar(&path, "heartbeat-file", path, "The heartbeat file of the scope-sync that is checked.")
	fs.DurationVar(&maxAge, "max-age", maxAge,
		"How long it may not have touched the file. It is taken for hung after that.")
	fs.BoolVar(&ready, "ready", ready,
		"Fail also if it works, but something keeps the lists from being what they should be.")
	command := &cobra.Command{
		Use:   "check",
		Short: "Check how the scope-sync on this host is",
		Long:  checkDescription,
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return scopesync.CheckHeartbeat(path, maxAge, ready) },
	}
	command.Flags().AddFlagSet(fs)
	cliflag.SetUsageAndHelpFunc(command, sections, program.HelpColumns)
	return command
}
