// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package refcluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	kindnodes "sigs.k8s.io/kind/pkg/cluster/nodes"
	"sigs.k8s.io/kind/pkg/cluster/nodeutils"

	"github.com/bulkhead-k8s/bulkhead/kind/progress"
)

// componentRepository is the image in the production manifests. Here, the image is built from the
// checkout, and the tag is a hash of its content.
const componentRepository = "ghcr.io/bulkhead-k8s/bulkhead"

// ComponentImage is the image with Bulkhead's programs. Its build may still be running.
type ComponentImage struct {
	building *progress.Background
	// name may be read when the build has ended.
	name string
}

// BuildComponents starts the build of the image with Bulkhead's programs. It runs in parallel to
// the creation of the nodes. The tag is derived from the content. Call Stop when the image is no
// longer needed.
func (c *Cluster) BuildComponents(ctx context.Context) *ComponentImage {
	image := &ComponentImage{}
	image.building = progress.Begin(ctx, func(ctx context.Context, log io.Writer) (err error) {
		image.name, err = c.buildComponentImage(ctx, log)
		return err
	})
	return image
}

// Stop ends the build if it still runs.
func (i *ComponentImage) Stop() { i.building.Stop() }

// LoadComponents waits for the image and loads it into every node that lacks it. It returns the
// image name.
func (c *Cluster) LoadComponents(ctx context.Context, image *ComponentImage) (string, error) {
	err := c.Progress.Step(ctx, "building and loading the component image",
		func(ctx context.Context, log io.Writer) error {
			if err := image.building.Wait(log); err != nil {
				return err
			}
			return c.loadImage(ctx, log, image.name)
		})
	return image.name, err
}

func (c *Cluster) buildComponentImage(ctx context.Context, log io.Writer) (string, error) {
	staging := filepath.Join(c.Output, "image")
	for _, tool := range tools {
		if !tool.component {
			continue
		}
		if err := copyFile(filepath.Join(c.nodeBin(), tool.name), filepath.Join(staging, tool.name)); err != nil {
			return "", err
		}
		if err := os.Chmod(filepath.Join(staging, tool.name), 0o755); err != nil {
			return "", err
		}
	}
	const building = componentRepository + ":building"
	build := c.Engine.Docker("build", "--tag", building, "--file", filepath.Join(c.Root, "components", "Dockerfile"),
		staging)
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

// loadImage loads the image into all nodes that lack it, in parallel, because unpacking is slow.
func (c *Cluster) loadImage(ctx context.Context, log io.Writer, image string) error {
	lacking, err := c.nodesWithout(ctx, image)
	if err != nil || len(lacking) == 0 {
		return err
	}
	archive := filepath.Join(c.Output, "image.tar")
	defer func() { _ = os.Remove(archive) }()
	if err := c.Engine.Docker("save", "--output", archive, image).Run(ctx, log); err != nil {
		return err
	}
	var loading errgroup.Group
	for _, node := range lacking {
		loading.Go(func() error {
			file, err := os.Open(archive)
			if err != nil {
				return err
			}
			defer func() { _ = file.Close() }()
			if err := nodeutils.LoadImageArchive(node, file); err != nil {
				return fmt.Errorf("loading %s into %s: %w", image, node, err)
			}
			return nil
		})
	}
	return loading.Wait()
}

func (c *Cluster) nodesWithout(ctx context.Context, image string) ([]kindnodes.Node, error) {
	all, err := c.provider.ListInternalNodes(c.Name)
	if err != nil {
		return nil, fmt.Errorf("listing the nodes: %w", err)
	}
	return slices.DeleteFunc(all, func(node kindnodes.Node) bool {
		has, err := c.exec(ctx, io.Discard, node.String(), "ctr", "--namespace", "k8s.io", "images", "ls", "-q",
			"name=="+image)
		return err == nil && has != ""
	}), nil
}

// PruneComponents removes the images of earlier builds from the engine and from the nodes. Call it
// after the installation, because a rollback needs the old image.
func (c *Cluster) PruneComponents(ctx context.Context, keep string) {
	for _, image := range c.componentImages(ctx) {
		if image != keep {
			_ = c.Engine.Docker("image", "rm", image).Run(ctx, io.Discard)
		}
	}
	const old = `ctr --namespace k8s.io images ls -q | grep "^$1:dev-" | grep -v "^$2$" | ` +
		`xargs -r ctr --namespace k8s.io images rm`
	for _, node := range c.nodes() {
		_, _ = c.exec(ctx, io.Discard, node, "sh", "-c", old, "sh", componentRepository, keep)
	}
}

// RemoveComponents removes all component images. The node image stays, because its build is
// expensive.
func (c *Cluster) RemoveComponents(ctx context.Context) {
	for _, image := range c.componentImages(ctx) {
		_ = c.Engine.Docker("image", "rm", image).Run(ctx, io.Discard)
	}
}

func (c *Cluster) componentImages(ctx context.Context) []string {
	out, err := c.Engine.Docker("image", "ls", "--format", "{{.Repository}}:{{.Tag}}", componentRepository).Output(ctx,
		io.Discard)
	if err != nil {
		return nil
	}
	return strings.Fields(out)
}
