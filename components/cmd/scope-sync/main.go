// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// The scope-sync program runs on a control-plane host and keeps the two lists of its
// kube-apiserver current. The lists name the ServiceAccounts whose requests kube-apiserver
// sends to node scope. The annotations in the cluster define which accounts are listed.
package main

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopesync"
)

func main() { os.Exit(program.Main(newCommand(start))) }

const description = `Updates the list of ServiceAccounts with a node scope for one kube-apiserver.

It watches ServiceAccounts and pods. It writes the names of the accounts with the
annotation bulkhead.dev/node-scoped-resources to two files of the API server on this
host: to an entry of its authorization configuration, and to a webhook registration that
the API server reads from disk. It changes nothing else in these files, and writes only
what the API server can load. The API server's metrics show what it has loaded. Until
then, the scope of an account is "pending". After that, it is "live" (bulkhead scope
list).

It does not listen on a port. While it does not run, or cannot read the cluster, the
lists do not change. It reloads certificates and the kubeconfig when they change.

Example, with the defaults of the other flags:
  scope-sync --kubeconfig=/etc/kubernetes/bulkhead/scope-sync/kubeconfig --node-name=cp-1`

// newCommand returns the command. It calls run with a valid configuration.
func newCommand(run func(context.Context, *config) error) *cobra.Command {
	o := defaultOptions()
	command := program.NewCommand("scope-sync", description, o.flags(), o.config, run)
	command.AddCommand(newCheckCommand())
	return command
}

const checkDescription = `Checks the scope-sync on this host by the age of its heartbeat file, which it writes
every two seconds. The probes of its pod run this command, because scope-sync does not
listen on a port.

Exit code: 0 if it works, 1 if not.`

func newCheckCommand() *cobra.Command {
	path, maxAge, ready := defaultHeartbeat, time.Minute, false
	var sections cliflag.NamedFlagSets
	fs := sections.FlagSet("check")
	fs.StringVar(&path, "heartbeat-file", path, "Heartbeat file of the scope-sync.")
	fs.DurationVar(&maxAge, "max-age", maxAge,
		"Maximum age of the heartbeat file. If the file is older, the check fails.")
	fs.BoolVar(&ready, "ready", ready,
		"Also fail if scope-sync runs, but cannot keep the lists up to date.")
	command := &cobra.Command{
		Use:   "check",
		Short: "Check whether the scope-sync on this host works",
		Long:  checkDescription,
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return scopesync.CheckHeartbeat(path, maxAge, ready) },
	}
	command.Flags().AddFlagSet(fs)
	cliflag.SetUsageAndHelpFunc(command, sections, program.HelpColumns)
	return command
}
