// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/bulkhead-k8s/bulkhead/kind/refcluster"
)

// installScoped marks kube-proxy before, so that it is in the first lists that the API
// server reads, and returns when it is held: what is tried next must not pass for want of
// that.
func installScoped(ctx context.Context, cluster *refcluster.Cluster, want wanted, image string) error {
	if !want.limitsKubeProxy() {
		if err := install(ctx, cluster, want, image); err != nil {
			return err
		}
		return cluster.LeaveKubeProxy(ctx)
	}
	if err := cluster.MarkKubeProxy(ctx); err != nil {
		return err
	}
	if err := install(ctx, cluster, want, image); err != nil {
		return err
	}
	return cluster.AwaitKubeProxy(ctx)
}

// install does the nodes between the two halves of the control plane's installation,
// so that the API server restarts once: it demands certificates of kubelets only
// when they have them. Where kubelets are left to themselves, the API server goes
// first.
func install(ctx context.Context, cluster *refcluster.Cluster, want wanted, image string) error {
	if want.profile != "hardened" || !want.kubeletAPI {
		return installWithoutProxies(ctx, cluster, want, image)
	}
	flags := want.flags("--kubelet-api")
	if err := cluster.Install(ctx, want.profile, image, append([]string{"--nodes-only"}, flags...)...); err != nil {
		return err
	}
	if err := cluster.InstallNodes(ctx); err != nil {
		return err
	}
	if err := cluster.Install(ctx, want.profile, image, flags...); err != nil {
		return err
	}
	return cluster.WaitProxies(ctx)
}

// installWithoutProxies takes a proxy away only when its kubelet is back on its own
// address: so the control plane goes first, to take any kubelet's certificate, and last.
func installWithoutProxies(ctx context.Context, cluster *refcluster.Cluster, want wanted, image string) error {
	flags := want.flags("--kubelet-api=false")
	if err := cluster.Install(ctx, want.profile, image, flags...); err != nil {
		return err
	}
	guarded, err := cluster.UninstallNodes(ctx)
	if err != nil || !guarded {
		return err
	}
	return cluster.Install(ctx, want.profile, image, flags...)
}
