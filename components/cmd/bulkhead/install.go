// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
)

const timeoutHelp = "How long the API server, and before it each component, may take to become healthy. If one takes " +
	"longer, the command restores the old state and fails."

const installHelp = `Install places the node authorizer and node-restriction beside this host's
kube-apiserver, and configures kube-apiserver to call them. The API server restarts
once, which takes about half a minute.

  hardened  node-authorizer in front, strict, and in-tree Node and RBAC behind it.
            node-restriction behind in-tree NodeRestriction, with its own configuration.
            kubelet-auth-proxy in front of each kubelet, after bulkhead node install
            on its host
  parity    node-authorizer and node-restriction instead of the in-tree components, to
            compare rules
  in-tree   Bulkhead is not installed: the same as bulkhead uninstall

If a step fails, if the API server is not healthy within --timeout, or on Ctrl-C, the
command restores the old state before it ends. A second run changes nothing. A run
with another profile switches to it, and keeps the settings that its flags do not name.`

func newInstallCommand() *cobra.Command {
	var (
		common     hostFlags
		options    controlplane.Options
		profile    string
		extensions extensionFlags
		policy     string
		kubeletAPI bool
		dryRun     bool
	)
	cmd := &cobra.Command{
		Use:     "install --profile=hardened|parity|in-tree",
		Short:   "Install Bulkhead on this control-plane host, or switch its profile",
		Long:    installHelp,
		Example: "  bulkhead install --profile=hardened --image=registry.example/bulkhead:v1",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if options.Profile, err = controlplane.ParseProfile(profile); err != nil {
				return err
			}
			if err := common.remember(cmd.Flags(), &options, &extensions, policy, kubeletAPI); err != nil {
				return err
			}
			installer, err := common.installer(cmd.OutOrStdout())
			if err != nil {
				return err
			}
			if dryRun {
				return installer.DryRun(cmd.Context(), options)
			}
			return installer.Install(cmd.Context(), options)
		},
	}
	fs := cmd.Flags()
	common.add(fs)
	addCertificateFlags(fs, &options.Certificates, controlPlaneCertificates)
	extensions.add(fs)
	fs.StringVar(&policy, policyFlag, "",
		"Configuration of node-restriction, instead of the profile's. It is copied to configuration.yaml on this host. A "+
			"later run without this flag keeps it; an empty value restores the profile's.")
	fs.StringVar(&profile, "profile", string(controlplane.Hardened), "What to install: hardened, parity or in-tree.")
	fs.StringVar(&options.Image, "image", defaultImage(buildVersion()),
		"Image with the components. It must be on this host or in a registry that the host can reach. A later run without "+
			"this flag keeps the image.")
	fs.DurationVar(&options.Timeout, "timeout", 3*time.Minute, timeoutHelp)
	fs.BoolVar(&kubeletAPI, kubeletAPIFlag, true,
		"In hardened, protect the kubelets' API: kubelet-auth-proxy on every node where bulkhead node install has run, "+
			"an approver of kubelets' serving certificates, and a policy for nodes/proxy. Without this flag, the value of "+
			"the last install, or that of the cluster if Bulkhead runs on another control-plane host. --kubelet-api=false "+
			"removes it from the cluster, and from each node after bulkhead node uninstall on its host.")
	addNodeScopeFlags(fs, &options.NodeScope)
	fs.BoolVar(&options.NodesOnly, "nodes-only", false,
		"Install only what bulkhead node install needs on the nodes, and do not change kube-apiserver. Then a later run "+
			"without this flag restarts kube-apiserver once instead of twice.")
	fs.BoolVar(&dryRun, "dry-run", false, "Print what would change, and change nothing.")
	return cmd
}

// remember sets options whose flags are not set to the recorded values of the installation on this
// host.
func (f *hostFlags) remember(fs *pflag.FlagSet, o *controlplane.Options, extensions *extensionFlags, policy string,
	kubeletAPI bool) error {
	var errs [6]error
	o.Image, errs[0] = f.image(fs, o.Image)
	o.Certificates, errs[1] = f.certificatePolicy(fs, o.Certificates)
	o.Extensions, errs[2] = f.extensions(fs, extensions)
	o.Policy, errs[3] = f.policy(fs, policy)
	o.KubeletAPI, errs[4] = f.kubeletAPI(fs, kubeletAPI)
	o.NodeScope, errs[5] = f.nodeScope(fs, o.Profile, o.NodeScope)
	o.KubeletAPISaid = fs.Changed(kubeletAPIFlag)
	o.ExtensionsSet = fs.Changed("beyond-upstream") || fs.Changed("rule-mode")
	return errors.Join(errs[:]...)
}
