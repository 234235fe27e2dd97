// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"

	"github.com/bulkhead-k8s/bulkhead/components/internal/kubeclient"
	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletapprover/approving"
)

// userAgent is in the audit log of the API server. It is the name of the static pod.
const userAgent = "bulkhead-kubelet-approver"

// start sets up logging, which a process can do only once, and calls run.
func start(ctx context.Context, c *config) error {
	if err := program.StartLogging(c.logging); err != nil {
		return err
	}
	return run(ctx, c)
}

// run approves requests until ctx is done.
func run(ctx context.Context, c *config) error {
	client, err := kubeclient.New(c.kubeconfig, userAgent)
	if err != nil {
		return err
	}
	clientset, err := client.Kubernetes()
	if err != nil {
		return err
	}
	// Run may return before ctx is done. The client must stop then too.
	ctx, stop := context.WithCancel(ctx)
	var reloading sync.WaitGroup
	reloading.Go(func() { client.Run(ctx) })
	defer reloading.Wait()
	defer stop()
	return (&approving.Approver{Client: clientset}).Run(ctx)
}
