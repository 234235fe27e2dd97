// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/kind/host"
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
	engine, running := host.Running(ctx, io.Discard)
	if !running {
		w.progress.Say("No Docker engine runs, so no cluster does.")
		return nil
	}
	cluster, err := w.cluster(engine)
	if err != nil {
		return err
	}
	exists, err := cluster.Exists()
	if err != nil {
		return err
	}
	if exists {
		err = w.progress.Step(ctx, "removing the cluster", func(context.Context, io.Writer) error { return cluster.Delete() })
	} else {
		w.progress.Say("There is no cluster.")
	}
	if err != nil || !engine.Private {
		return err
	}
	return w.progress.Step(ctx, "stopping the private engine (its images stay)", func(ctx context.Context, log io.Writer) error {
		_, err := host.StopIfIdle(ctx, log)
		return err
	})
}
