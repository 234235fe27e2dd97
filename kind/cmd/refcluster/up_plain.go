// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/bulkhead-k8s/bulkhead/kind/refcluster"
)

// bringUpPlain creates the cluster, and copies the program bulkhead and the component image to its
// nodes, as an administrator does before an installation. It installs nothing.
func bringUpPlain(ctx context.Context, cluster *refcluster.Cluster, want wanted, image string) error {
	building := cluster.BuildComponents(ctx)
	defer building.Stop()
	if err := cluster.Ensure(ctx, image, !want.fresh); err != nil {
		return err
	}
	if err := cluster.EnsureNetwork(ctx); err != nil {
		return err
	}
	if _, err := cluster.LoadComponents(ctx, building); err != nil {
		return err
	}
	if err := cluster.WaitReady(ctx); err != nil {
		return err
	}
	if err := cluster.HardenNodes(ctx); err != nil {
		return err
	}
	return cluster.PutInstallers(ctx)
}
