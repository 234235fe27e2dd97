// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package refcluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	nodeimage "github.com/bulkhead-k8s/bulkhead/kind/node-image"
)

// balancerImage is the image that kind starts in front of several control planes. Its name is in
// kind (pkg/cluster/internal/loadbalancer/const.go).
const balancerImage = "docker.io/envoyproxy/envoy:v1.36.2"

// builtHere is the label of an image of that name that was built from this checkout.
const builtHere = "dev.bulkhead.load-balancer"

// ensureBalancerImage pulls the image. If no registry answers, it builds an image of the same name
// with the small load balancer in kind/loadbalancer. kind needs a shell in it, so it is built on the
// node image.
func (c *Cluster) ensureBalancerImage(ctx context.Context, log io.Writer, nodeImage string) error {
	if exists, local := c.balancerImageExists(ctx); exists && !local {
		return nil
	}
	if !c.Engine.Private && nodeimage.Fetch(ctx, log, c.Engine, balancerImage) == nil {
		return nil
	}
	return c.buildBalancer(ctx, log, nodeImage)
}

// balancerImageExists reports whether the engine has the image, and whether it was built here.
func (c *Cluster) balancerImageExists(ctx context.Context) (exists, local bool) {
	label, err := c.Engine.Docker("image", "inspect", "--format", "{{index .Config.Labels \""+builtHere+"\"}}",
		balancerImage).Output(ctx, io.Discard)
	return err == nil, err == nil && label == "true"
}

func (c *Cluster) buildBalancer(ctx context.Context, log io.Writer, nodeImage string) error {
	staging := filepath.Join(c.Output, "load-balancer")
	if err := os.MkdirAll(staging, 0o755); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(staging) }()
	workshop := Workshop{Root: c.Root, Output: c.Output, Progress: c.Progress}
	if err := workshop.BuildStatic(ctx, log, c.Engine.Info.Platform, "./kind/loadbalancer",
		filepath.Join(staging, "envoy")); err != nil {
		return err
	}
	// The node image stops with a signal for systemd.
	dockerfile := fmt.Sprintf("FROM %s\nENTRYPOINT []\nSTOPSIGNAL SIGTERM\nLABEL %s=true\n"+
		"COPY envoy /usr/local/bin/envoy\n", nodeImage, builtHere)
	if err := os.WriteFile(filepath.Join(staging, "Dockerfile"), []byte(dockerfile), 0o644); err != nil {
		return err
	}
	return c.Engine.Docker("build", "--tag", balancerImage, staging).Run(ctx, log)
}

// removeBalancerImage removes the image if it was built here, so that a later pull is not prevented.
// Docker keeps an image that another cluster uses.
func (c *Cluster) removeBalancerImage() {
	ctx := context.Background()
	if _, local := c.balancerImageExists(ctx); local {
		_ = c.Engine.Docker("image", "rm", balancerImage).Run(ctx, io.Discard)
	}
}
