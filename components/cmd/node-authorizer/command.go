// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/spf13/cobra"
	cliflag "k8s.io/component-base/cli/flag"
)

const description = `Decides what every kubelet may read and write.

It answers SubjectAccessReviews of one kube-apiserver, over mutual TLS on
loopback, from what pods, persistent volumes, volume attachments, resource slices
and pod certificate requests say about who runs what. While it has not seen all of
them, or hears nothing of them any more, it leaves every request to the authorizers
behind.

Certificates and the kubeconfig are read again when they change.`

// helpColumns is where lines of --help are broken.
const helpColumns = 100

// newCommand calls run with a valid configuration.
func newCommand(run func(context.Context, *config) error) *cobra.Command {
	o := defaultOptions()
	command := &cobra.Command{
		Use:           "node-authorizer",
		Long:          description,
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(command *cobra.Command, _ []string) error {
			config, err := o.config()
			if err != nil {
				return err
			}
			return run(command.Context(), config)
		},
	}
	sections := o.flags()
	for _, section := range sections.FlagSets {
		command.Flags().AddFlagSet(section)
	}
	cliflag.SetUsageAndHelpFunc(command, sections, helpColumns)
	return command
}
