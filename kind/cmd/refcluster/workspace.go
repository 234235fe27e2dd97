// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

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
	release, err := nodeimage.FindRelease("")
	w.workshop = refcluster.Workshop{Root: root, Output: w.output, Progress: w.progress, Release: release}
	return w, err
}

// engine finds an engine, or prepares one.
func (w *workspace) engine(ctx context.Context) (engine host.Engine, err error) {
	err = w.progress.Step(ctx, "finding a Docker engine that runs privileged containers",
		func(ctx context.Context, log io.Writer) error {
			engine, err = host.Find(ctx, log, w.workshop.BuildStatic)
			return err
		})
	if err == nil && engine.Private {
		w.progress.Logf("    using a private Docker engine at %s: %s", engine.Host, firstLine(engine.Why))
	}
	w.workshop.Engine = engine.Info.Platform
	return engine, err
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func (w *workspace) cluster(engine host.Engine, name string) (*refcluster.Cluster, error) {
	return refcluster.New(engine, name, w.root, w.output, w.progress)
}

// imageChoice says which node image is wanted.
type imageChoice struct {
	// name is NODE_IMAGE: auto, pull, build or an image name.
	name string
	// release is the version of Kubernetes. kind's pinned image has the default version.
	release nodeimage.Release
	// compiled is called when the compiler has ended, if the image is built.
	compiled func()
}

func (c imageChoice) isPinned() bool { return c.release.Version == nodeimage.KubernetesVersion }

// nodeImage returns the name of the image, which the engine then has, or which kind pulls.
func (w *workspace) nodeImage(ctx context.Context, engine host.Engine, choice imageChoice) (string, error) {
	switch choice.name {
	case "auto":
		if !engine.Private && choice.isPinned() {
			if image, err := w.pull(ctx, engine); err == nil {
				return image, nil
			}
		}
	case "pull":
		if !choice.isPinned() {
			return "", fmt.Errorf("cannot pull Kubernetes %s: kind's pinned image is %s; set NODE_IMAGE to an image of "+
				"https://github.com/kubernetes-sigs/kind/releases", choice.release.Version, nodeimage.Pinned)
		}
		return w.pull(ctx, engine)
	case "build":
	default:
		return engine.Reference(choice.name), nil
	}
	return w.buildNodeImage(ctx, engine, choice)
}

func (w *workspace) pull(ctx context.Context, engine host.Engine) (image string, err error) {
	err = w.progress.Step(ctx, "pulling kind's pinned node image", func(ctx context.Context, log io.Writer) error {
		image, err = nodeimage.Pull(ctx, log, engine, nodeimage.Pinned)
		return err
	})
	return image, err
}

func (w *workspace) buildNodeImage(ctx context.Context, engine host.Engine, choice imageChoice) (string, error) {
	kindDir, kindVersion, err := w.workshop.KindModule(ctx, io.Discard)
	if err != nil {
		return "", err
	}
	builder := nodeimage.Builder{
		Engine: engine, Release: choice.release, Root: w.root, Work: filepath.Join(w.output, "node-image"),
		KindDir: kindDir, KindVersion: kindVersion, Progress: w.progress, Compiled: choice.compiled,
	}
	return builder.Ensure(ctx)
}
