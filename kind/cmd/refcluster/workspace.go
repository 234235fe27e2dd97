// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/bulkhead-k8s/bulkhead/kind/host"
	nodeimage "github.com/bulkhead-k8s/bulkhead/kind/node-image"
	"github.com/bulkhead-k8s/bulkhead/kind/progress"
	"github.com/bulkhead-k8s/bulkhead/kind/refcluster"
)

// workspace is the checkout in which the command runs.
type workspace struct {
	root, output string
	progress     *progress.Reporter
	workshop     refcluster.Workshop
}

func openWorkspace() (*workspace, error) { return openWorkspaceOf(refcluster.DefaultName) }

// openWorkspaceOf has a separate log folder for each cluster except the default one.
func openWorkspaceOf(name string) (*workspace, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(root, "kind", "refcluster")); err != nil {
		return nil, fmt.Errorf("run this at the top of a checkout: %w", err)
	}
	w := &workspace{root: root, output: filepath.Join(root, "_output")}
	logs := filepath.Join(w.output, "logs")
	if name != refcluster.DefaultName {
		logs = filepath.Join(logs, name)
	}
	if w.progress, err = progress.New(os.Stderr, logs); err != nil {
		return nil, err
	}
	w.workshop = refcluster.Workshop{Root: root, Output: w.output, Progress: w.progress}
	return w, nil
}

// engine finds an engine, or prepares one.
func (w *workspace) engine(ctx context.Context) (engine host.Engine, err error) {
	err = w.progress.Step(ctx, "finding a Docker engine that runs privileged containers",
		func(ctx context.Context, log io.Writer) error {
			engine, err = host.Find(ctx, log, w.workshop.BuildStatic)
			return err
		})
	if err == nil && engine.Private {
		w.progress.Logf("    the machine's own Docker may not run privileged containers: using a private engine at %s",
			engine.Host)
	}
	return engine, err
}

func (w *workspace) cluster(engine host.Engine, name string) (*refcluster.Cluster, error) {
	return refcluster.New(engine, name, w.root, w.output, w.progress)
}

// nodeImage returns the image for NODE_IMAGE: auto, pull, build or an image name.
func (w *workspace) nodeImage(ctx context.Context, engine host.Engine, choice string) (string, error) {
	switch choice {
	case "auto":
		if !engine.Private && w.pull(ctx, engine) == nil {
			return nodeimage.Pinned, nil
		}
	case "pull":
		return nodeimage.Pinned, w.pull(ctx, engine)
	case "build":
	default:
		return choice, nil
	}
	return w.buildNodeImage(ctx, engine)
}

func (w *workspace) pull(ctx context.Context, engine host.Engine) error {
	return w.progress.Step(ctx, "pulling kind's pinned node image", func(ctx context.Context, log io.Writer) error {
		return nodeimage.Pull(ctx, log, engine)
	})
}

func (w *workspace) buildNodeImage(ctx context.Context, engine host.Engine) (string, error) {
	kindDir, kindVersion, err := w.workshop.KindModule(ctx, io.Discard)
	if err != nil {
		return "", err
	}
	builder := nodeimage.Builder{
		Engine: engine, Root: w.root, Work: filepath.Join(w.output, "node-image"),
		KindDir: kindDir, KindVersion: kindVersion, Progress: w.progress,
	}
	return builder.Ensure(ctx)
}
