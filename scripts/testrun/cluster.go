// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/kind/progress"
	"github.com/bulkhead-k8s/bulkhead/kind/refcluster"
)

// prepare builds the tools, including kubectl and ginkgo.
func (j *job) prepare(ctx context.Context) error {
	return j.step(ctx, "building the tools", func(*result) error {
		// refcluster is built first, because jobs use it in parallel and `go run` does not pass an
		// interrupt on.
		err := j.run(j.command(ctx, "go", "build", "-o", j.path("bin", "refcluster"), "./kind/cmd/refcluster"))
		if err != nil {
			return err
		}
		return j.refcluster(ctx, "tools")
	})
}

func (j *job) refcluster(ctx context.Context, args ...string) error {
	return j.run(j.command(ctx, append([]string{j.path("bin", "refcluster")}, args...)...))
}

func (j *job) kubeconfig() string {
	return envOr("E2E_KUBECONFIG", refcluster.Kubeconfig(j.output, j.cluster))
}

// up creates the job's cluster with the profile, or switches it to the profile.
func (j *job) up(ctx context.Context, profile string, flags ...string) error {
	return j.part(ctx, "make up PROFILE="+profile, func(*result) error {
		// While a heavy spec runs on another cluster, nodes take minutes to start.
		unlock, err := progress.Lock(ctx, j.path(progress.MachineLock), func() {
			fmt.Fprintln(j.out, "    waiting for a heavy spec of another job")
		})
		if err != nil {
			return err
		}
		defer unlock()
		args := []string{"up", "--name=" + j.cluster, "--profile=" + profile, "--node-image=" + envOr("NODE_IMAGE", "auto")}
		err = j.refcluster(ctx, append(args, flags...)...)
		if err == nil && j.name != "" {
			j.raiseWatchLimit(ctx)
		}
		return err
	})
}

// down removes the job's cluster, also after an interrupt.
func (j *job) down(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	return j.step(ctx, "make down of "+j.cluster, func(*result) error {
		return j.refcluster(ctx, "down", "--name="+j.cluster)
	})
}

// raiseWatchLimit raises the limit of file watches, for three clusters on one machine. One cluster
// uses about fifty inotify instances of root, and the usual limit is 128. A node is privileged, so
// it can raise the limit of the machine that runs its engine.
func (j *job) raiseWatchLimit(ctx context.Context) {
	const script = `f=/proc/sys/fs/inotify/max_user_instances; test "$(cat $f)" -ge 512 || echo 512 >$f`
	node := (&refcluster.Cluster{Name: j.cluster}).ControlPlane()
	if err := j.run(j.withNodes(ctx, "docker", "exec", node, "sh", "-c", script)); err != nil {
		fmt.Fprintln(j.out, "    a third cluster may not start; run sysctl -w fs.inotify.max_user_instances=512")
	}
}

// installedProfile reads the profile from the cluster's node-authorizer. E2E_PROFILE overrides it.
func (j *job) installedProfile(ctx context.Context) (string, error) {
	if profile := os.Getenv("E2E_PROFILE"); profile != "" {
		return profile, refcluster.CheckProfile(profile)
	}
	args, err := j.command(ctx, j.path("bin", "kubectl"), "--kubeconfig", j.kubeconfig(),
		"get", "pods", "--namespace=kube-system", "--selector=app.kubernetes.io/name=node-authorizer",
		"-o", "jsonpath={.items[*].spec.containers[*].args} {.items[*].spec.containers[*].command}").CombinedOutput()
	switch {
	case err != nil:
		return "", fmt.Errorf("cannot read the profile from the cluster: %w\n%s", err, args)
	case strings.Contains(string(args), "--mode=strict"):
		return "hardened", nil
	case strings.Contains(string(args), "--mode=compat"):
		return "parity", nil
	}
	return "in-tree", nil
}

func envOr(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}
