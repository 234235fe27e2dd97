// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package refcluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kind/pkg/cluster/nodeutils"
)

// componentRepository is the image that the production manifests name; here it
// is built from the checkout and tagged by what it holds.
const componentRepository = "ghcr.io/bulkhead-k8s/bulkhead"

// LoadComponents builds the image with our programs and loads it into every node.
// The tag is derived from the content, so an unchanged image is loaded once.
func (c *Cluster) LoadComponents(ctx context.Context) (image string, err error) {
	err = c.Progress.Step(ctx, "building and loading the component image", func(ctx context.Context, log io.Writer) error {
		if image, err = c.buildComponentImage(ctx, log); err != nil {
			return err
		}
		return c.loadImage(ctx, log, image)
	})
	return image, err
}

func (c *Cluster) buildComponentImage(ctx context.Context, log io.Writer) (string, error) {
	staging := filepath.Join(c.Output, "image")
	for _, tool := range tools {
		if !tool.component {
			continue
		}
		if err := copyFile(filepath.Join(c.Output, "bin", tool.name), filepath.Join(staging, tool.name)); err != nil {
			return "", err
		}
		if err := os.Chmod(filepath.Join(staging, tool.name), 0o755); err != nil {
			return "", err
		}
	}
	const building = componentRepository + ":building"
	build := c.Engine.Docker("build", "--tag", building, "--file", filepath.Join(c.Root, "components", "Dockerfile"), staging)
	if err := build.Run(ctx, log); err != nil {
		return "", err
	}
	id, err := c.Engine.Docker("image", "inspect", "--format", "{{.Id}}", building).Output(ctx, log)
	if err != nil {
		return "", err
	}
	image := componentRepository + ":dev-" + strings.TrimPrefix(id, "sha256:")[:12]
	return image, c.Engine.Docker("tag", building, image).Run(ctx, log)
}

func (c *Cluster) loadImage(ctx context.Context, log io.Writer, image string) error {
	nodes, err := c.provider.ListInternalNodes(Name)
	if err != nil {
		return fmt.Errorf("listing the nodes: %w", err)
	}
	archive := filepath.Join(c.Output, "image.tar")
	defer func() { _ = os.Remove(archive) }()
	saved := false
	for _, node := range nodes {
		if has, err := c.exec(ctx, io.Discard, node.String(), "ctr", "--namespace", "k8s.io", "images", "ls", "-q", "name=="+image); err == nil && has != "" {
			continue
		}
		if !saved {
			if err := c.Engine.Docker("save", "--output", archive, image).Run(ctx, log); err != nil {
				return err
			}
			saved = true
		}
		file, err := os.Open(archive)
		if err != nil {
			return err
		}
		err = nodeutils.LoadImageArchive(node, file)
		_ = file.Close()
		if err != nil {
			return fmt.Errorf("loading %s into %s: %w", image, node, err)
		}
	}
	return nil
}

// PruneComponents removes the images of earlier builds, from the engine and from
// the nodes. It must come after the installation: a roll-back needs the old one.
func (c *Cluster) PruneComponents(ctx context.Context, keep string) {
	for _, image := range c.componentImages(ctx) {
		if image != keep {
			_ = c.Engine.Docker("image", "rm", image).Run(ctx, io.Discard)
		}
	}
	const old = `ctr --namespace k8s.io images ls -q | grep "^$1:dev-" | grep -v "^$2$" | xargs -r ctr --namespace k8s.io images rm`
	for _, node := range []string{ControlPlane, Worker} {
		_, _ = c.exec(ctx, io.Discard, node, "sh", "-c", old, "sh", componentRepository, keep)
	}
}

// RemoveComponents removes every image that was built for the cluster but the
// node image, which is dear.
func (c *Cluster) RemoveComponents(ctx context.Context) {
	for _, image := range c.componentImages(ctx) {
		_ = c.Engine.Docker("image", "rm", image).Run(ctx, io.Discard)
	}
}

func (c *Cluster) componentImages(ctx context.Context) []string {
	out, err := c.Engine.Docker("image", "ls", "--format", "{{.Repository}}:{{.Tag}}", componentRepository).Output(ctx, io.Discard)
	if err != nil {
		return nil
	}
	return strings.Fields(out)
}
