// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/kind/host"
	"github.com/bulkhead-k8s/bulkhead/kind/progress"
)

const (
	baseImage      = "bulkhead.local/node-base:building"
	buildContainer = "bulkhead-node-image-build"
)

// assemble loads the control-plane images into the containerd of a node that runs nothing else. It
// saves the result as the node image.
func (b *Builder) assemble(ctx context.Context, log io.Writer, tag string) error {
	defer RemoveLeftovers(b.Engine)
	RemoveLeftovers(b.Engine)
	if err := b.importFolder(ctx, log, b.rootfs(), []string{"import", "-", baseImage}); err != nil {
		return err
	}
	start := b.Engine.Docker("run", "--detach", "--network", "none", "--name", buildContainer,
		"--entrypoint", "/usr/local/bin/containerd", baseImage)
	if err := start.Run(ctx, log); err != nil {
		return err
	}
	for _, image := range b.images() {
		if err := b.loadIntoNode(ctx, log, image.name); err != nil {
			return err
		}
	}
	if err := b.Engine.Docker("stop", buildContainer).Run(ctx, log); err != nil {
		return err
	}
	commit := b.Engine.Docker("commit", "--change", "ENV container=docker",
		"--change", `ENTRYPOINT ["/usr/local/bin/bulkhead-entrypoint", "/sbin/init"]`, buildContainer, baseImage)
	if err := commit.Run(ctx, log); err != nil {
		return err
	}
	return b.finish(ctx, log, tag)
}

// finish sets the signal that stops systemd. The import and commit commands of older engines cannot
// set it.
func (b *Builder) finish(ctx context.Context, log io.Writer, tag string) error {
	build := b.Engine.Docker("build", "--tag", tag, "-")
	build.Stdin = strings.NewReader("FROM " + baseImage + "\nSTOPSIGNAL SIGRTMIN+3\n")
	return build.Run(ctx, log)
}

func (b *Builder) loadIntoNode(ctx context.Context, log io.Writer, name string) error {
	archive := filepath.Join(b.Work, "image.tar")
	defer func() { _ = os.Remove(archive) }()
	if err := b.Engine.Docker("save", "--output", archive, name).Run(ctx, log); err != nil {
		return err
	}
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	load := b.Engine.Docker("exec", "--interactive", buildContainer,
		"sh", "-c", "until ctr version >/dev/null 2>&1; do sleep 0.2; done; exec ctr --namespace k8s.io images import "+
			"--all-platforms --no-unpack --digests -")
	load.Stdin = file
	if err := load.Run(ctx, log); err != nil {
		return fmt.Errorf("loading %s: %w", name, err)
	}
	return b.Engine.Docker("image", "rm", name).Run(ctx, log)
}

// RemoveLeftovers removes the container and the image of an interrupted build. It must also work
// after an interrupt, so it takes no context.
func RemoveLeftovers(engine host.Engine) {
	ctx := context.Background()
	_ = engine.Docker("rm", "--force", "--volumes", buildContainer).Run(ctx, io.Discard)
	_ = engine.Docker("image", "rm", baseImage).Run(ctx, io.Discard)
}

func tarFolder(ctx context.Context, log io.Writer, folder string, out io.Writer) error {
	cmd := exec.CommandContext(ctx, "tar", "--numeric-owner", "--create", "--directory", folder, ".")
	cmd.Stdout, cmd.Stderr = out, log
	return cmd.Run()
}

// lock prevents two checkouts from building the same image at the same time.
func lock(ctx context.Context, report *progress.Reporter) (unlock func(), err error) {
	return progress.Lock(ctx, filepath.Join(os.TempDir(), "bulkhead-node-image.lock"), func() {
		report.Logf("Another checkout is building the node image: waiting for it.")
	})
}
