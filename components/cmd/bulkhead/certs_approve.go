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
		Short: "Approve serving certificates of kubelets, for their own names only",
		Long: `Approve watches certificate signing requests for kubernetes.io/kubelet-serving. It
approves a node's request for the node's own name and the addresses in its status, and
leaves other requests to an administrator. The static pod bulkhead-kubelet-approver
runs it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return approve(cmd.Context(), kubeconfig) },
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "The approver's credentials for the API server.")
	if err := cmd.MarkFlagRequired("kubeconfig"); err != nil {
		panic(err) // the flag is defined above
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
