// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/kind/refcluster"
)

// certFlags give the certificates so short a life that the suite lives through
// two renewals of them.
var certFlags = []string{"--install-flag=--cert-validity=10m", "--install-flag=--cert-renew-before=7m"}

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

// everyProfile runs the suite in all three profiles of one cluster.
func everyProfile(ctx context.Context, r *run) error {
	for _, profile := range refcluster.Profiles {
		err := r.timed("make up PROFILE="+profile, func() (count, error) {
			flags := []string{"up", "--profile=" + profile, "--node-image=" + envOr("NODE_IMAGE", "auto")}
			return count{}, r.refcluster(ctx, append(flags, certFlags...)...)
		})
		if err == nil {
			err = r.suites(ctx, profile, wholeSuite)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func onWhatIsUp(ctx context.Context, r *run, profile, label string) error {
	if os.Getenv("E2E_KUBECONFIG") == "" && r.refcluster(ctx, "status") != nil {
		if err := r.refcluster(ctx, "up", "--profile="+profile); err != nil {
			return err
		}
	}
	profile, err := r.installedProfile(ctx)
	if err != nil {
		return err
	}
	if label != "" {
		return r.suites(ctx, profile, []parallel{{{name: "selected", label: label, packages: []string{"-r", "./e2e"}}}})
	}
	return r.suites(ctx, profile, wholeSuite)
}

func (r *run) refcluster(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"run", "./kind/cmd/refcluster"}, args...)...)
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

func (r *run) kubeconfig() string {
	return envOr("E2E_KUBECONFIG", filepath.Join(r.output, "kubeconfig"))
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
