// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bulkhead-k8s/bulkhead/components/install"
)

const timeoutHelp = "How long the API server, and before it each component, may take to become healthy. If one takes " +
	"longer, the old state is put back and the command fails."

func newInstallCommand() *cobra.Command {
	var (
		host       hostFlags
		options    install.Options
		profile    string
		beyond     beyondFlags
		policy     string
		kubeletAPI bool
		dryRun     bool
	)
	cmd := &cobra.Command{
		Use:   "install --profile=hardened|parity|in-tree",
		Short: "Make this control-plane host what the profile says",
		Long: `Install places the node authorizer and node-restriction beside this host's
kube-apiserver and makes them decide what nodes may read and write. The API server
restarts once, which takes about half a minute.

  hardened  our authorizer in front, strict; in-tree Node and RBAC behind it as the
            floor. Our admission behind in-tree NodeRestriction, with a policy of its own.
            kubelet-auth-proxy before each kubelet on whose host bulkhead node install
            is run afterwards
  parity    ours in the place of in-tree Node and NodeRestriction; for proving rules
  in-tree   nothing of ours: the same as bulkhead uninstall

If a step fails, if the API server is not healthy within --timeout, or on Ctrl-C,
the old state is put back before the command ends. A second run changes nothing;
a run with another profile switches, and keeps what its flags do not name.`,
		Example: "  bulkhead install --profile=hardened --image=registry.example/bulkhead:v1",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if options.Profile, err = install.ParseProfile(profile); err != nil {
				return err
			}
			if err := host.remember(cmd.Flags(), &options, &beyond, policy, kubeletAPI); err != nil {
				return err
			}
			installer, err := host.installer(cmd.OutOrStdout())
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
	host.add(fs)
	addCertificateFlags(fs, &options.Certificates, controlPlaneCertificates)
	beyond.add(fs)
	fs.StringVar(&policy, policyFlag, "",
		"A file with what nodes may write about themselves, in the place of the profile's: it becomes configuration.yaml "+
			"of node-restriction on this host. A later run without this flag keeps it; an empty value goes back to the "+
			"profile's.")
	fs.StringVar(&profile, "profile", string(install.Hardened), "What to install: hardened, parity or in-tree.")
	fs.StringVar(&options.Image, "image", defaultImage(buildVersion()),
		"The image with the components. It has to be on this host or in a registry that it reaches. A later run without "+
			"this flag keeps the image.")
	fs.DurationVar(&options.Timeout, "timeout", 3*time.Minute, timeoutHelp)
	fs.BoolVar(&kubeletAPI, kubeletAPIFlag, true,
		"In hardened, guard the kubelets' API, too: kubelet-auth-proxy on every node where bulkhead node install has run, "+
			"an approver of kubelets' serving certificates, and a policy about nodes/proxy. Without this flag, what the last "+
			"install was told; if nothing, and our components run on another control-plane host, what the cluster has. "+
			"--kubelet-api=false takes it from the whole cluster, from each node once bulkhead node uninstall has run on it.")
	addNodeScopeFlags(fs, &options.NodeScope)
	fs.BoolVar(&options.NodesOnly, "nodes-only", false,
		"Stop after what bulkhead node install needs on the nodes, before kube-apiserver is touched. A run without it "+
			"afterwards restarts kube-apiserver once, where otherwise it would be twice.")
	fs.BoolVar(&dryRun, "dry-run", false, "Say what would be changed, and change nothing.")
	return cmd
}

// remember completes what the flags say with what the installation on this host was
// told.
func (f *hostFlags) remember(fs *pflag.FlagSet, o *install.Options, beyond *beyondFlags, policy string,
	kubeletAPI bool) error {
	var errs [6]error
	o.Image, errs[0] = f.image(fs, o.Image)
	o.Certificates, errs[1] = f.certificatePolicy(fs, o.Certificates)
	o.Beyond, errs[2] = f.beyond(fs, beyond)
	o.Policy, errs[3] = f.policy(fs, policy)
	o.KubeletAPI, errs[4] = f.kubeletAPI(fs, kubeletAPI)
	o.NodeScope, errs[5] = f.nodeScope(fs, o.Profile, o.NodeScope)
	o.KubeletAPISaid = fs.Changed(kubeletAPIFlag)
	o.BeyondSaid = fs.Changed("beyond-upstream") || fs.Changed("rule-mode")
	return errors.Join(errs[:]...)
}
