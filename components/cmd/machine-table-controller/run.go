// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/internal/kubeclient"
	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
	"github.com/bulkhead-k8s/bulkhead/components/internal/serve"
	"github.com/bulkhead-k8s/bulkhead/components/machinetable/filling"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configfile"
)

const userAgent = "bulkhead-machine-table-controller"

// start sets up logging, which a process can do only once, and calls run.
func start(ctx context.Context, c *config) error {
	if err := program.StartLogging(c.logging); err != nil {
		return err
	}
	return run(ctx, c)
}

// run fills in Nodes until ctx is done.
func run(ctx context.Context, c *config) error {
	clientset, reload, err := connect(c.kubeconfig)
	if err != nil {
		return err
	}
	registry := metrics.NewKubeRegistry()
	policy, err := configfile.New(configfile.Config{Path: c.configuration, Registry: registry})
	if err != nil {
		return err
	}
	filler := filling.New(filling.Config{Client: clientset, Policy: policy.Current, Registry: registry})
	return program.Daemon{
		Server: c.server(), Checks: []serve.Check{filler.Synced}, Registry: registry,
		Background: []func(context.Context){reload, policy.Run, filler.Run},
	}.Run(ctx)
}

// connect makes no request. reload follows changes of the kubeconfig.
func connect(kubeconfig string) (clientset kubernetes.Interface, reload func(context.Context), err error) {
	if kubeconfig == "" {
		if clientset, err = kubeclient.InCluster(userAgent); err != nil {
			return nil, nil, fmt.Errorf("--kubeconfig is empty, and this pod has no ServiceAccount: %w", err)
		}
		return clientset, func(context.Context) {}, nil
	}
	client, err := kubeclient.New(kubeconfig, userAgent)
	if err != nil {
		return nil, nil, err
	}
	clientset, err = client.Kubernetes()
	return clientset, client.Run, err
}
