// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/kind/refcluster"
)

func e2eCommand() *cobra.Command {
	var profile, label string
	cmd := &cobra.Command{
		Use:   "e2e",
		Short: "The end-to-end suite, on the cluster that is up, on E2E_KUBECONFIG, or on one that it makes",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runStages(cmd.Context(), func(ctx context.Context, r *run) error {
				return onWhatIsUp(ctx, r, profile, label)
			})
		},
	}
	cmd.Flags().StringVar(&profile, "profile", "hardened", "the profile of the cluster that is made if none is up")
	cmd.Flags().StringVar(&label, "label", "", "a Ginkgo label filter, for example 'rule: containsAny NA-LEASE-3'")
	return cmd
}

func onWhatIsUp(ctx context.Context, r *run, profile, label string) error {
	if err := r.prepareCluster(ctx, profile); err != nil {
		return err
	}
	profile, err := r.installedProfile(ctx)
	if err != nil {
		return err
	}
	if label != "" {
		return r.suite(ctx, profile, ginkgoRun{name: "selected", label: label, packages: []string{"-r", "--skip-package=framework,slowwatch", "./e2e"}})
	}
	return r.wholeSuite(ctx, profile)
}

// prepareCluster sees to it that there is a cluster and what it takes to test it.
func (r *run) prepareCluster(ctx context.Context, profile string) error {
	if os.Getenv("E2E_KUBECONFIG") != "" {
		return r.refcluster(ctx, "tools")
	}
	if r.refcluster(ctx, "status") == nil {
		return r.refcluster(ctx, "tools")
	}
	return r.refcluster(ctx, "up", "--profile="+profile, "--node-image="+envOr("NODE_IMAGE", "auto"))
}

// refcluster runs the cluster's command as a program of its own: `go run` would
// not pass an interruption on.
func (r *run) refcluster(ctx context.Context, args ...string) error {
	program := filepath.Join(r.output, "bin", "refcluster")
	if err := r.command(ctx, "go", "build", "-o", program, "./kind/cmd/refcluster"); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.root, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd.Run()
}

// installedProfile reads from the cluster how our component runs there, so that
// it works for any cluster. E2E_PROFILE has the last word.
func (r *run) installedProfile(ctx context.Context) (string, error) {
	if profile := os.Getenv("E2E_PROFILE"); profile != "" {
		return profile, refcluster.CheckProfile(profile)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(r.output, "bin", "kubectl"), "--kubeconfig", r.kubeconfig(),
		"get", "pods", "--namespace=kube-system", "--selector=app.kubernetes.io/name=node-authorizer",
		"-o", "jsonpath={.items[*].spec.containers[*].args} {.items[*].spec.containers[*].command}")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("reading the profile from the cluster: %w", err)
	}
	switch {
	case strings.Contains(string(out), "--mode=strict"):
		return "hardened", nil
	case strings.Contains(string(out), "--mode=compat"):
		return "parity", nil
	}
	return "in-tree", nil
}

func (r *run) clusterName() string { return cmp.Or(r.cluster, refcluster.DefaultName) }

func (r *run) kubeconfig() string {
	return envOr("E2E_KUBECONFIG", refcluster.Kubeconfig(r.output, r.clusterName()))
}

// nodeEnv is what `make env` prints, so that the suite reaches the nodes' engine.
func (r *run) nodeEnv(ctx context.Context) ([]string, error) {
	cmd := exec.CommandContext(ctx, "bash", "-c", `eval "$(go run ./kind/cmd/refcluster env)" && env -0`)
	cmd.Dir, cmd.Stderr = r.root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("reading `make env`: %w", err)
	}
	return strings.Split(strings.TrimRight(string(out), "\x00"), "\x00"), nil
}

func envOr(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}
