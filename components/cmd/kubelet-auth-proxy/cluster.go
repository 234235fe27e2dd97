// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"k8s.io/client-go/kubernetes"

	"github.com/bulkhead-k8s/bulkhead/components/internal/kubeclient"
)

const userAgent = "bulkhead-kubelet-auth-proxy"

// cluster contains the clients of the API server.
type cluster struct {
	clientset kubernetes.Interface
	run       func(context.Context)
}

// newCluster makes no request. Without a kubeconfig it uses the pod's service account, whose token
// client-go reloads by itself. It sets no rate limit: the packages that make reviews have limits
// that are fair between callers.
func newCluster(kubeconfig string) (*cluster, error) {
	if kubeconfig == "" {
		return inCluster()
	}
	client, err := kubeclient.New(kubeconfig, userAgent)
	if err != nil {
		return nil, err
	}
	clientset, err := client.Kubernetes()
	return &cluster{clientset: clientset, run: client.Run}, err
}

func inCluster() (*cluster, error) {
	clientset, err := kubeclient.InCluster(userAgent)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig is empty, and this pod has no service account: %w", err)
	}
	return &cluster{clientset: clientset, run: func(ctx context.Context) { <-ctx.Done() }}, nil
}
