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

const description = `Tells one kube-apiserver which ServiceAccounts have a node scope.

It watches ServiceAccounts and pods. It writes the names of the accounts with the
annotation bulkhead.dev/node-scoped-resources into two files of the API server on this
host: an entry of its authorization configuration, and a webhook that it reads from
disk. It changes nothing else in these files, and writes only what the API server can
load. The API server's metrics say what it has loaded. Until then an account is
"pending", and from then on "live" (bulkhead scope list).

It listens on no port. While it is dead, or cannot read the cluster, the lists stay as
they are. Certificates and the kubeconfig are read again when they change.

Example, with the defaults of the other flags:
  scope-sync --kubeconfig=/etc/kubernetes/bulkhead/scope-sync/kubeconfig --node-name=cp-1`

// newCommand returns the command. It calls run with a valid configuration.
func newCommand(run func(context.Context, *config) error) *cobra.Command {
	o := defaultOptions()
	command := program.NewCommand("scope-sync", description, o.flags(), o.config, run)
	command.AddCommand(newCheckCommand())
	return command
}

const checkDescription = `Checks the scope-sync on this host by the age of its heartbeat file, which it touches
every two seconds. The probes of its pod run this command, because it listens on no
port.

Exit code: 0 if it works, 1 if not.`

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
