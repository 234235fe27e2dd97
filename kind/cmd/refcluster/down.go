// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/kind/host"
	nodeimage "github.com/bulkhead-k8s/bulkhead/kind/node-image"
	"github.com/bulkhead-k8s/bulkhead/kind/refcluster"
)

func downCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Remove the clusters, and stop the private engine if nothing else is in it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return down(cmd.Context(), name)
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "only the cluster of this name, and leave the engine alone")
	return cmd
}

func down(ctx context.Context, only string) error {
	w, err := openWorkspace()
	if err != nil {
		return err
	}
	unlock, err := refcluster.Lock(ctx, w.progress)
	if err != nil {
		return err
	}
	defer unlock()
	engine, running := host.Running(ctx, io.Discard)
	if !running {
		w.progress.Logf("No Docker engine runs, so no cluster does.")
		return nil
	}
	cluster, err := w.cluster(engine, cmp.Or(only, refcluster.DefaultName))
	if err != nil {
		return err
	}
	if only != "" {
		return w.removeCluster(ctx, cluster)
	}
	if err := w.removeClusters(ctx, engine, cluster); err != nil {
		return err
	}
	nodeimage.RemoveLeftovers(engine)
	cluster.RemoveComponents(ctx)
	if !engine.Private {
		return nil
	}
	return w.stopEngine(ctx)
}

// removeClusters removes every cluster of this project. A test run that was killed leaves its
// cluster.
func (w *workspace) removeClusters(ctx context.Context, engine host.Engine, first *refcluster.Cluster) error {
	names, err := first.Names()
	if err == nil && len(names) == 0 {
		w.progress.Logf("There is no cluster.")
	}
	for _, name := range names {
		cluster, failed := w.cluster(engine, name)
		if failed == nil {
			failed = w.removeCluster(ctx, cluster)
		}
		err = errors.Join(err, failed)
	}
	return err
}

func (w *workspace) removeCluster(ctx context.Context, cluster *refcluster.Cluster) error {
	exists, err := cluster.Exists()
	if err != nil {
		return err
	}
	if !exists {
		w.progress.Logf("There is no cluster %s.", cluster.Name)
		return nil
	}
	if err := cluster.CheckOurs(ctx); err != nil {
		return err
	}
	return w.progress.Step(ctx, "removing the cluster "+cluster.Name,
		func(context.Context, io.Writer) error { return cluster.Delete() })
}

func (w *workspace) stopEngine(ctx context.Context) error {
	stopped := false
	err := w.progress.Step(ctx, "stopping the private engine (its images stay)",
		func(ctx context.Context, log io.Writer) (err error) {
			stopped, err = host.StopIfIdle(ctx, log)
			return err
		})
	if err == nil && !stopped {
		w.progress.Logf("    the engine continues to run: it has other containers")
	}
	return err
}
