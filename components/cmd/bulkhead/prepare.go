// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/install/engine"
)

func newPrepareCommand() *cobra.Command {
	var (
		common  hostFlags
		options controlplane.Options
		profile string
	)
	cmd := &cobra.Command{
		Use:   "prepare",
		Short: "Make a host ready to join a control plane that has Bulkhead",
		Long: `Prepare writes what kube-apiserver needs to start on a host that is about to join
with ` + "`kubeadm join --control-plane`" + `. When all control-plane hosts have Bulkhead, kubeadm
configures a new one with Bulkhead's authorization and admission files, and the join fails
without them. If only some hosts have Bulkhead, prepare is not necessary, but safe.
After the join, run bulkhead install on the host. Until then in-tree Node, RBAC and
in-tree admission decide there.`,
		Example: "  bulkhead prepare --profile=hardened",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if options.Profile, err = controlplane.ParseProfile(profile); err != nil {
				return err
			}
			if err := requireRoot(); err != nil {
				return err
			}
			installer := &controlplane.Installer{
				Engine: engine.Engine{Out: cmd.OutOrStdout(), Now: time.Now, Poll: 500 * time.Millisecond,
					Lock: common.layout.Lock},
				Layout: common.layout, Version: buildVersion(),
			}
			return installer.Prepare(cmd.Context(), options)
		},
	}
	common.addState(cmd.Flags())
	addCertificateFlags(cmd.Flags(), &options.Certificates, controlPlaneCertificates)
	cmd.Flags().StringVar(&options.AdmissionConfigFile, controlplane.PrepareAdmissionFlag, "",
		"The AdmissionConfiguration that kube-apiserver of the other hosts used before Bulkhead. Bulkhead's file keeps "+
			"its plugins, for example PodSecurity. Copy the file to this host first. The absolute path must be the same on "+
			"this host and in kube-apiserver's container.")
	cmd.Flags().StringVar(&profile, "profile", string(controlplane.Hardened),
		"The profile of the other control-plane hosts: hardened or parity.")
	return cmd
}
