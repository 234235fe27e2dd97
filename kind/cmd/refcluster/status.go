// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/kind/host"
	nodeimage "github.com/bulkhead-k8s/bulkhead/kind/node-image"
	"github.com/bulkhead-k8s/bulkhead/kind/refcluster"
)

func statusCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the nodes and what is installed; exit 1 if no cluster runs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return status(cmd.Context(), cmd.OutOrStdout(), name)
		},
	}
	cmd.Flags().StringVar(&name, "name", refcluster.DefaultName, "the cluster's name")
	return cmd
}

var errNoCluster = errors.New("no cluster: create one with `make up`")

func status(ctx context.Context, out io.Writer, name string) error {
	w, err := openWorkspace()
	if err != nil {
		return err
	}
	engine, running := host.Running(ctx, io.Discard)
	if !running {
		return errNoCluster
	}
	cluster, err := w.cluster(engine, name)
	if err != nil {
		return err
	}
	if exists, err := cluster.Exists(); err != nil || !exists {
		return errors.Join(err, errNoCluster)
	}
	nodes, err := cluster.Nodes(ctx)
	if err != nil {
		return fmt.Errorf("the cluster exists, but its API server does not answer: %w; run `make up` to repair it", err)
	}
	installed, err := cluster.InstalledStatus(ctx)
	if err != nil {
		installed = "Bulkhead is not installed on the control-plane node: run `make up`"
	}
	_, err = fmt.Fprintf(out, "%s\n\n%s\n\nkubeconfig: %s\n", nodes, installed, cluster.Kubeconfig())
	return err
}

func envCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "env",
		Short: `Print environment variables for a shell: eval "$(make env)"`,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env(cmd.Context(), cmd.OutOrStdout(), name)
		},
	}
	cmd.Flags().StringVar(&name, "name", refcluster.DefaultName, "the cluster's name")
	return cmd
}

// envOf returns the command that configures a shell for a cluster.
func envOf(name string) string {
	if name == refcluster.DefaultName {
		return `eval "$(make env)"`
	}
	return `eval "$(go run ./kind/cmd/refcluster env --name=` + name + `)"`
}

func env(ctx context.Context, out io.Writer, name string) error {
	if err := refcluster.CheckName(name); err != nil {
		return err
	}
	w, err := openWorkspace()
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "export PATH=%q:\"$PATH\"\nexport KUBECONFIG=%q\n",
		filepath.Join(w.output, "bin"), refcluster.Kubeconfig(w.output, name)); err != nil {
		return err
	}
	engine, running := host.Running(ctx, io.Discard)
	if running && engine.Host != "" {
		_, err = fmt.Fprintf(out, "export DOCKER_HOST=%q\n", engine.Host)
	}
	if running && engine.Client() != "docker" {
		_, err = fmt.Fprintf(out, "export E2E_NODE_EXEC=%q\n", engine.Client()+" exec -i {node}")
	}
	return err
}

func imageCommand() *cobra.Command {
	var name, kubernetes string
	cmd := &cobra.Command{
		Use:   "image",
		Short: "Get or build the node image only, and print its name",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, err := openWorkspace()
			if err != nil {
				return err
			}
			engine, err := w.engine(cmd.Context())
			if err != nil {
				return err
			}
			release, err := nodeimage.FindRelease(kubernetes)
			if err != nil {
				return err
			}
			image, err := w.nodeImage(cmd.Context(), engine, imageChoice{name: name, release: release, compiled: func() {}})
			if err == nil {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), image)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&name, "node-image", "auto", "auto, pull, build, or the name of an image")
	cmd.Flags().StringVar(&kubernetes, "kubernetes", nodeimage.KubernetesVersion, "the version of Kubernetes")
	return cmd
}

func toolsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "tools",
		Short: "Build the tools in _output/bin only",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, err := openWorkspace()
			if err != nil {
				return err
			}
			return w.workshop.BuildTools(cmd.Context())
		},
	}
}
