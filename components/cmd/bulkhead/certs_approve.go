// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/components/internal/kubeclient"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletapprover/approving"
)

func newCertsApproveCommand() *cobra.Command {
	var kubeconfig string
	cmd := &cobra.Command{
		Use:   "approve",
		Short: "Approve the serving certificates that kubelets ask for, each for its own names only",
		Long: `Approve watches the requests to the signer kubernetes.io/kubelet-serving and approves
what a node asks for its own name and the addresses in the status of its Node, until
it is stopped. What it does not approve it leaves to an administrator. This is what
the static pod bulkhead-kubelet-approver runs.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return approve(cmd.Context(), kubeconfig) },
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "Who the approver is to the API server.")
	if err := cmd.MarkFlagRequired("kubeconfig"); err != nil {
		panic(err) // the flag is three lines up
	}
	return cmd
}

func approve(ctx context.Context, kubeconfig string) error {
	client, err := kubeclient.New(kubeconfig, "bulkhead-kubelet-approver")
	if err != nil {
		return err
	}
	clientset, err := client.Kubernetes()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() { client.Run(ctx) })
	defer following.Wait()
	defer stop()
	return (&approving.Approver{Client: clientset}).Run(ctx)
}
