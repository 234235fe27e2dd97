// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/kind/refcluster"
)

func upCommand() *cobra.Command {
	var profile, nodeImage string
	var extra []string
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Make the cluster, or bring the one that is there to this profile",
		Long: `Makes a two-node cluster and installs Bulkhead into it. Run it again to pick up
what an interruption left, or with another profile to switch.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return up(cmd.Context(), profile, nodeImage, extra)
		},
	}
	cmd.Flags().StringVar(&profile, "profile", "hardened", "hardened (ours in front, in-tree Node behind), parity (ours alone) or in-tree (nothing of ours)")
	cmd.Flags().StringVar(&nodeImage, "node-image", "auto", "auto (pull kind's image, else build from source), pull, build, or the name of an image")
	cmd.Flags().StringArrayVar(&extra, "install-flag", nil, "a further flag for `bulkhead install`, for example --cert-validity=10m")
	return cmd
}

func up(ctx context.Context, profile, imageChoice string, extra []string) error {
	if err := refcluster.CheckProfile(profile); err != nil {
		return err
	}
	w, err := openWorkspace()
	if err != nil {
		return err
	}
	unlock, err := refcluster.Lock(ctx, w.progress)
	if err != nil {
		return err
	}
	defer unlock()
	engine, err := w.engine(ctx)
	if err != nil {
		return err
	}
	if err := w.workshop.BuildTools(ctx); err != nil {
		return err
	}
	image, err := w.nodeImage(ctx, engine, imageChoice)
	if err != nil {
		return err
	}
	cluster, err := w.cluster(engine)
	if err != nil {
		return err
	}
	if err := bringUp(ctx, cluster, profile, image, extra); err != nil {
		return err
	}
	w.welcome(ctx, cluster, profile)
	return nil
}

func bringUp(ctx context.Context, cluster *refcluster.Cluster, profile, image string, extra []string) error {
	if err := cluster.Ensure(ctx, image); err != nil {
		return err
	}
	if err := cluster.EnsureNetwork(ctx); err != nil {
		return err
	}
	component, err := cluster.LoadComponents(ctx)
	if err != nil {
		return err
	}
	if err := cluster.WaitReady(ctx); err != nil {
		return err
	}
	if err := cluster.Install(ctx, profile, component, extra...); err != nil {
		return err
	}
	cluster.PruneComponents(ctx, component)
	return nil
}

func (w *workspace) welcome(ctx context.Context, cluster *refcluster.Cluster, profile string) {
	w.progress.Say("\nThe cluster is up, profile %s, after %s.", profile, w.progress.Elapsed())
	w.progress.Say("kubeconfig: %s\n", cluster.Kubeconfig())
	if status, err := cluster.InstalledStatus(ctx); err == nil {
		w.progress.Say("%s\n", status)
	}
	fmt.Println("Try it (first: eval \"$(make env)\"):")
	as := "--as=system:node:" + refcluster.Worker + " --as-group=system:nodes"
	fmt.Printf("  kubectl get node %s %s\n", refcluster.Worker, as)
	fmt.Printf("  kubectl get node %s %s\n", refcluster.ControlPlane, as)
	fmt.Println("  bulkhead rules")
	fmt.Println("The first is allowed; the second is refused, by our rule in every profile but in-tree.")
}
