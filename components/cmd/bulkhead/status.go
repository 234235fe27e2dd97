// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/components/install"
	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/cluster"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
)

func newStatusCommand() *cobra.Command {
	var (
		host   hostFlags
		policy pki.Policy
	)
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what is installed on this host and how it is",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			installed, err := host.printInstallation(out)
			if err != nil {
				return err
			}
			manifest, client, err := host.connect()
			if err != nil {
				return err
			}
			printServer(cmd.Context(), out, manifest, client)
			if !installed {
				return nil
			}
			printHealth(out, "node-authorizer", install.NodeAuthorizer{}.Ready(cmd.Context()))
			printHealth(out, "certs", install.Renewer{Layout: host.layout, API: client}.Ready(cmd.Context()))
			policy, err := host.certificatePolicy(cmd.Flags(), policy)
			if err != nil {
				return err
			}
			_, _ = fmt.Fprintln(out)
			return printCertificates(out, host.layout.Keeper(policy, time.Now).Status())
		},
	}
	host.add(cmd.Flags())
	addCertificateFlags(cmd.Flags(), &policy)
	return cmd
}

// printInstallation says whether there is anything of ours to tell about.
func (f *hostFlags) printInstallation(out io.Writer) (installed bool, err error) {
	record, err := install.ReadRecord(f.layout)
	if err != nil {
		return false, err
	}
	unfinished, err := install.Unfinished(f.layout)
	if err != nil {
		return false, err
	}
	if unfinished != "" {
		row(out, "unfinished", unfinished+": it is running now, or was killed; the next install or uninstall takes it back first")
	}
	if record == nil {
		row(out, "profile", string(install.InTree)+" (nothing of ours is installed)")
		return unfinished != "", nil
	}
	row(out, "profile", string(record.Profile))
	row(out, "image", record.Image)
	row(out, "installed by", "bulkhead "+record.Version)
	return true, nil
}

func printServer(ctx context.Context, out io.Writer, manifest *apiserver.Manifest, client *cluster.Client) {
	row(out, "kube-apiserver", manifest.Image())
	for _, arg := range manifest.Args() {
		if strings.HasPrefix(arg, "--authorization-") {
			row(out, "", arg)
		}
	}
	process, err := client.Process(ctx)
	if err != nil {
		row(out, "", "does not answer: "+err.Error())
		return
	}
	if process.AuthorizationHash != "" {
		row(out, "", "authorization file in force: sha256:"+process.AuthorizationHash)
	}
}

func printHealth(out io.Writer, component string, err error) {
	if err != nil {
		row(out, component, "not ready: "+err.Error())
		return
	}
	row(out, component, "ready")
}

func row(out io.Writer, name, value string) {
	_, _ = fmt.Fprintf(out, "%-16s %s\n", name, value)
}
