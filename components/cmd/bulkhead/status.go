// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
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
		Short: "Show what is installed on this host, and its health",
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
			for _, component := range []install.OnHost{install.NodeAuthorizer, install.NodeRestriction} {
				printHealth(out, component.Name, component.Ready(cmd.Context()))
			}
			if _, err := os.Stat(host.layout.KubeletApproverManifest()); err == nil {
				printHealth(out, "kubelet-approver",
					install.Renewer{Layout: host.layout, API: client, Container: "kubelet-approver"}.Ready(cmd.Context()))
			}
			if _, err := os.Stat(host.layout.ScopeSyncManifest()); err == nil {
				printHealth(out, "scope-sync",
					install.Renewer{Layout: host.layout, API: client, Container: "scope-sync"}.Ready(cmd.Context()))
			}
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
	addCertificateFlags(cmd.Flags(), &policy, controlPlaneCertificates)
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
		row(out, "unfinished",
			unfinished+": it runs now, or was killed; the next install or uninstall undoes it first")
	}
	if record == nil {
		row(out, "profile", string(install.InTree)+" (Bulkhead is not installed)")
		return unfinished != "", nil
	}
	row(out, "profile", string(record.Profile))
	row(out, "beyond upstream", record.Beyond.In(record.Profile))
	row(out, "node policy", record.Policy.In(f.layout, record.Profile))
	row(out, "kubelet API", kubeletAPIOf(f.layout, record))
	row(out, "node scope", nodeScopeOf(f.layout, record))
	row(out, "image", record.Image)
	row(out, "installed by", "bulkhead "+record.Version)
	return true, nil
}

// kubeletAPIOf says in one line what is done about the kubelets' API.
func kubeletAPIOf(l install.Layout, record *install.Record) string {
	_, err := os.Stat(l.KubeletApproverManifest())
	switch {
	case err != nil && record.Profile == install.Hardened:
		return "not protected (--kubelet-api=false)"
	case err != nil:
		return "not protected"
	case !record.VerifyKubelets:
		return "protected on the nodes where `bulkhead node install` has run, not on all nodes"
	}
	return "protected on all nodes: kube-apiserver verifies the kubelets' certificates"
}

// shownFlags begin the flags of kube-apiserver that our profiles are about.
var shownFlags = []string{"--authorization-", "--admission-control-", "--enable-admission-plugins=",
	"--disable-admission-plugins=", "--service-account-extend-token-expiration=", "--kubelet-certificate-authority="}

func printServer(ctx context.Context, out io.Writer, manifest *apiserver.Manifest, client *cluster.Client) {
	row(out, "kube-apiserver", manifest.Image())
	for _, arg := range manifest.Args() {
		if slices.ContainsFunc(shownFlags, func(prefix string) bool { return strings.HasPrefix(arg, prefix) }) {
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
	registered, err := install.Registered(ctx, client)
	switch {
	case err != nil:
		row(out, "", "cannot read the webhooks in the API: "+err.Error())
	case process.AdmissionHash != "":
		row(out, "", "webhooks from disk in force: "+process.AdmissionHash)
	case registered:
		row(out, "", "node-restriction is registered through the API: a user who may delete a ValidatingWebhookConfiguration "+
			"can remove it")
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
