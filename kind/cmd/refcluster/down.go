// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/kind/host"
	nodeimage "github.com/bulkhead-k8s/bulkhead/kind/node-image"
	"github.com/bulkhead-k8s/bulkhead/kind/refcluster"
)

func downCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Remove the cluster, and stop the private engine if nothing else is in it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return down(cmd.Context())
		},
	}
}

func down(ctx context.Context) error {
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
		w.progress.Say("No Docker engine runs, so no cluster does.")
		return nil
	}
	cluster, err := w.cluster(engine)
	if err != nil {
		return err
	}
	if err := w.removeCluster(ctx, cluster); err != nil {
		return err
	}
	nodeimage.RemoveLeftovers(engine)
	cluster.RemoveComponents(ctx)
	if !engine.Private {
		return nil
	}
	return w.stopEngine(ctx)
}

func (w *workspace) removeCluster(ctx context.Context, cluster *refcluster.Cluster) error {
	exists, err := cluster.Exists()
	if err != nil {
		return err
	}
	if !exists {
		w.progress.Say("There is no cluster.")
		return nil
	}
	if err := cluster.CheckOurs(ctx); err != nil {
		return err
	}
	return w.progress.Step(ctx, "removing the cluster", func(context.Context, io.Writer) error { return cluster.Delete() })
}

func (w *workspace) stopEngine(ctx context.Context) error {
	stopped := false
	err := w.progress.Step(ctx, "stopping the private engine (its images stay)", func(ctx context.Context, log io.Writer) (err error) {
		stopped, err = host.StopIfIdle(ctx, log)
		return err
	})
	if err == nil && !stopped {
		w.progress.Say("    it still has containers that are not ours, and goes on for them")
	}
	return err
}
