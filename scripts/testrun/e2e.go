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

func e2eCommand() *cobra.Command {
	var profile, label string
	cmd := &cobra.Command{
		Use:   "e2e",
		Short: "The end-to-end suite, on the cluster that is up, on E2E_KUBECONFIG, or on one that it makes",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runStages(cmd.Context(), func(ctx context.Context, l *lane) error {
				return onWhatIsUp(ctx, l, profile, label)
			})
		},
	}
	cmd.Flags().StringVar(&profile, "profile", "hardened", "the profile of the cluster that is made if none is up")
	cmd.Flags().StringVar(&label, "label", "", "a Ginkgo label filter, for example 'rule: containsAny NA-LEASE-3'")
	return cmd
}

func onWhatIsUp(ctx context.Context, l *lane, profile, label string) error {
	if err := l.prepareCluster(ctx, profile); err != nil {
		return err
	}
	profile, err := l.installedProfile(ctx)
	if err != nil {
		return err
	}
	if err := l.compile(ctx); err != nil {
		return err
	}
	if label != "" {
		return l.suite(ctx, profile, ginkgoRun{name: "selected", label: label})
	}
	return l.wholeSuite(ctx, profile)
}

// prepareCluster sees to it that there is a cluster and what it takes to test it.
func (l *lane) prepareCluster(ctx context.Context, profile string) error {
	if os.Getenv("E2E_KUBECONFIG") != "" || l.works.refcluster(ctx, l.out, "status") == nil {
		return l.works.refcluster(ctx, l.out, "tools")
	}
	return l.works.refcluster(ctx, l.out, "up", "--profile="+profile, "--node-image="+envOr("NODE_IMAGE", "auto"))
}

// installedProfile reads from the cluster how our component runs there, so that
// it works for any cluster. E2E_PROFILE has the last word.
func (l *lane) installedProfile(ctx context.Context) (string, error) {
	if profile := os.Getenv("E2E_PROFILE"); profile != "" {
		return profile, refcluster.CheckProfile(profile)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(l.output, "bin", "kubectl"), "--kubeconfig", l.kubeconfig(),
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

func (l *lane) kubeconfig() string {
	return envOr("E2E_KUBECONFIG", refcluster.Kubeconfig(l.output, l.cluster))
}
