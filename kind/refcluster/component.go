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
	for _, program := range []string{"bulkhead", "node-authorizer"} {
		if err := copyFile(filepath.Join(c.Output, "bin", program), filepath.Join(staging, program)); err != nil {
			return "", err
		}
		if err := os.Chmod(filepath.Join(staging, program), 0o755); err != nil {
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
