// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/cluster"
	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
	"github.com/bulkhead-k8s/bulkhead/components/install/scope"
)

func newStatusCommand() *cobra.Command {
	var (
		common hostFlags
		policy pki.Policy
		output string
		all    clusterStatus
	)
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what is installed on this host, and its health",
		Long:  statusHelp,
		Example: "  bulkhead status\n" +
			"  bulkhead status -o yaml > bulkhead.yaml\n" +
			"  bulkhead status --cluster --kubeconfig=admin.conf",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			if err := all.validate(cmd.Flags()); err != nil {
				return err
			}
			if all.on {
				return all.run(cmd, &common, output)
			}
			if output != "" {
				return common.printInstalledConfig(out, output)
			}
			record, installed, err := common.printInstallation(out)
			if err != nil {
				return err
			}
			manifest, client, err := common.connect()
			if err != nil {
				return err
			}
			printServer(cmd.Context(), out, manifest, client)
			common.printOtherPlugins(out, record, manifest)
			if !installed {
				return nil
			}
			common.printComponents(cmd.Context(), out, client)
			policy := certificatePolicy(cmd.Flags(), policy, cmp.Or(record, &controlplane.Record{}))
			_, _ = fmt.Fprintln(out)
			return printCertificates(out, common.layout.Rotator(policy, time.Now).Status())
		},
	}
	common.add(cmd.Flags())
	addCertificateFlags(cmd.Flags(), &policy, controlPlaneCertificates)
	all.add(cmd.Flags())
	cmd.Flags().StringVarP(&output, outputFlag, "o", "",
		"yaml prints only what is installed, as a file for bulkhead install --config. It does not check the components. "+
			"With --cluster: text or json.")
	_ = cmd.RegisterFlagCompletionFunc(outputFlag,
		cobra.FixedCompletions([]string{"yaml", "text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// printInstalledConfig prints the configuration that installs again what is installed.
func (f *hostFlags) printInstalledConfig(out io.Writer, format string) error {
	if format != "yaml" {
		return fmt.Errorf("--output=%s is not supported: use yaml, or leave it out", format)
	}
	record, err := controlplane.ReadRecord(f.layout)
	if err != nil {
		return err
	}
	config, err := installedConfig(f.layout, record)
	if err != nil {
		return err
	}
	return printConfig(out, config)
}

// printInstallation prints the state of the installation, and reports whether there is one. record is
// nil if there is none.
func (f *hostFlags) printInstallation(out io.Writer) (record *controlplane.Record, installed bool, err error) {
	record, err = controlplane.ReadRecord(f.layout)
	if err != nil {
		return nil, false, err
	}
	unfinished, err := controlplane.Unfinished(f.layout)
	if err != nil {
		return nil, false, err
	}
	if unfinished != "" {
		row(out, "unfinished",
			unfinished+": it runs now, or was killed; the next install or uninstall rolls it back first")
	}
	if record == nil {
		row(out, "profile", string(controlplane.InTree)+" (Bulkhead is not installed)")
		return nil, unfinished != "", nil
	}
	row(out, "profile", string(record.Profile))
	row(out, "beyond upstream", record.Extensions.In(record.Profile))
	row(out, "failure policy", record.Extensions.FailurePolicy())
	row(out, "node policy", record.Policy.In(f.layout, record.Profile))
	row(out, "kubelet API", kubeletAPIOf(f.layout, record))
	row(out, "node scope", nodeScopeOf(f.layout, record))
	row(out, "image", record.Image)
	row(out, "installed by", "bulkhead "+record.Version)
	return record, true, nil
}

// kubeletAPIOf describes in one line how the kubelets' API is protected.
func kubeletAPIOf(l host.Layout, record *controlplane.Record) string {
	_, err := os.Stat(l.KubeletApproverManifest())
	switch {
	case err != nil && record.Profile == controlplane.Hardened:
		return "not protected (--kubelet-api=false)"
	case err != nil:
		return "not protected"
	case !record.VerifyKubelets:
		return "protected on the nodes where `bulkhead node install` has run, not on all nodes"
	}
	return "protected on all nodes: kube-apiserver verifies the kubelets' certificates"
}

// shownFlags are prefixes of the kube-apiserver flags that Bulkhead's profiles set.
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
	if process.Skipped != "" {
		row(out, "", "writes of nodes that it has admitted without node-restriction: "+process.Skipped)
	}
	registered, err := controlplane.Registered(ctx, client)
	switch {
	case err != nil:
		row(out, "", "cannot read the webhooks in the API: "+err.Error())
	case process.AdmissionHash != "":
		row(out, "", "webhooks from disk in force: "+process.AdmissionHash)
	case registered:
		row(out, "", "node-restriction is registered through the API: a user who may delete a "+
			"ValidatingWebhookConfiguration can remove it")
	}
}

// printOtherPlugins says whether kube-apiserver still has the admission plugins that it had before
// Bulkhead. record is nil if Bulkhead is not installed.
func (f *hostFlags) printOtherPlugins(out io.Writer, record *controlplane.Record, manifest *apiserver.Manifest) {
	if record == nil {
		return
	}
	if state := record.OtherPlugins(f.layout, manifest); state != "" {
		row(out, "", "admission: "+state)
	}
}

// printComponents prints whether Bulkhead's components on this host are ready.
func (f *hostFlags) printComponents(ctx context.Context, out io.Writer, client *cluster.Client) {
	for _, component := range []host.Component{host.NodeAuthorizer, host.NodeRestriction} {
		printHealth(out, component.Name, component.Ready(ctx))
	}
	for _, pod := range []struct{ container, manifest string }{
		{controlplane.ApproverContainer, f.layout.KubeletApproverManifest()},
		{scope.SyncName, f.layout.ScopeSyncManifest()},
	} {
		if _, err := os.Stat(pod.manifest); err == nil {
			f.printStaticPod(ctx, out, client, pod.container)
		}
	}
	f.printStaticPod(ctx, out, client, controlplane.CertsContainer)
}

func (f *hostFlags) printStaticPod(ctx context.Context, out io.Writer, client *cluster.Client, container string) {
	printHealth(out, container,
		controlplane.StaticPod{Layout: f.layout, MirrorPods: client, Container: container}.Ready(ctx))
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
