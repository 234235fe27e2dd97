// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/bulkhead-k8s/bulkhead/kind/refcluster"
)

// installScoped annotates kube-proxy before the installation, so that kube-proxy is in the first
// lists that the API server reads. It returns when the scope is live. Otherwise a later test could
// pass only because the scope is missing.
func installScoped(ctx context.Context, cluster *refcluster.Cluster, want wanted, image string) error {
	if !want.limitsKubeProxy() {
		if err := install(ctx, cluster, want, image); err != nil {
			return err
		}
		return cluster.UnmarkKubeProxy(ctx)
	}
	if err := cluster.MarkKubeProxy(ctx); err != nil {
		return err
	}
	if err := install(ctx, cluster, want, image); err != nil {
		return err
	}
	return cluster.AwaitKubeProxy(ctx)
}

// install installs the nodes between the two parts of the control plane's installation. So the API
// server restarts only once: it requires certificates from kubelets only when they have them.
// Without kubelet-auth-proxy, the API server is installed first.
func install(ctx context.Context, cluster *refcluster.Cluster, want wanted, image string) error {
	if want.profile != "hardened" || !want.kubeletAPI {
		return installWithoutProxies(ctx, cluster, want, image)
	}
	flags := want.flags("--kubelet-api")
	if err := cluster.InstallNodesOnly(ctx, want.profile, image, flags...); err != nil {
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

// installWithoutProxies installs the control plane twice if there are proxies. The first run makes
// kube-apiserver accept any kubelet certificate. Then each kubelet gets its own address back. The
// second run removes the proxies.
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
