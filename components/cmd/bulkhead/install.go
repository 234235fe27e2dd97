// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/components/install"
)

const timeoutHelp = "How long the API server, and before it the node authorizer, may take to become healthy. If either takes longer, the old state is put back and the command fails."

func newInstallCommand() *cobra.Command {
	var (
		host    hostFlags
		options install.Options
		profile string
		dryRun  bool
	)
	cmd := &cobra.Command{
		Use:   "install --profile=hardened|parity|in-tree",
		Short: "Make this control-plane host what the profile says",
		Long: `Install places the node authorizer beside this host's kube-apiserver and makes it
decide about nodes. The API server restarts once, which takes about half a minute.

  hardened  ours in front, strict; in-tree Node and RBAC behind it as the floor
  parity    ours in the place of in-tree Node; for proving rules
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
			if options.Image, err = host.image(cmd.Flags(), options.Image); err != nil {
				return err
			}
			if options.Certificates, err = host.certificatePolicy(cmd.Flags(), options.Certificates); err != nil {
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
	addCertificateFlags(fs, &options.Certificates)
	fs.StringVar(&profile, "profile", string(install.Hardened), "What to install: hardened, parity or in-tree.")
	fs.StringVar(&options.Image, "image", defaultImage(buildVersion()), "The image with the components. It has to be on this host or in a registry that it reaches. A later run without this flag keeps the image.")
	fs.DurationVar(&options.Timeout, "timeout", 3*time.Minute, timeoutHelp)
	fs.BoolVar(&dryRun, "dry-run", false, "Say what would be changed, and change nothing.")
	return cmd
}
