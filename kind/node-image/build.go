// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/kind/host"
	"github.com/bulkhead-k8s/bulkhead/kind/progress"
)

// Builder builds the node image with one engine. It must not run two builds at the same time.
type Builder struct {
	Engine  host.Engine
	Release Release
	// Root is the checkout. Work is a folder that git ignores and that may be deleted at any time.
	Root, Work string
	// KindDir is the folder of the kind module. KindVersion is its version.
	KindDir, KindVersion string
	Progress             *progress.Reporter
	// Compiled is called when the compiler has ended. Then one processor is free.
	Compiled func()
}

func (b *Builder) source() string            { return filepath.Join(b.Root, "kind", "node-image") }
func (b *Builder) bin() string               { return filepath.Join(b.Work, "bin") }
func (b *Builder) rootfs() string            { return filepath.Join(b.Work, "rootfs") }
func (b *Builder) binary(name string) string { return filepath.Join(b.bin(), name) }
func (b *Builder) exists(ctx context.Context, image string) bool {
	_, err := b.Engine.Docker("image", "inspect", "--format", "{{.Id}}", image).Output(ctx, io.Discard)
	return err == nil
}

// Ensure returns the tag of the image. It builds the image if the engine lacks it. It reuses the
// results of an interrupted build.
func (b *Builder) Ensure(ctx context.Context) (string, error) {
	tag, err := b.tag(b.Release)
	if err != nil || b.exists(ctx, tag) {
		return tag, err
	}
	if err := checkBuild(host.Here(), b.Engine, os.Geteuid() == 0); err != nil {
		return "", err
	}
	if err := host.CheckPrerequisites(b.Engine, host.Needs{Compile: true}); err != nil {
		return "", err
	}
	unlock, err := lock(ctx, b.Progress)
	if err != nil {
		return "", err
	}
	defer unlock()
	if b.exists(ctx, tag) {
		return tag, nil
	}
	if err := b.Progress.Step(ctx, "checking what the build needs", func(ctx context.Context, log io.Writer) error {
		return host.Install(ctx, log, map[string]string{"debootstrap": "debootstrap", "jq": "jq"})
	}); err != nil {
		return "", err
	}
	b.Progress.Logf("Building the node image %s from source: once on this machine, up to 11 minutes on two cores.", tag)
	// debootstrap waits for a mirror while the compiler uses both cores.
	debian := progress.Begin(ctx, b.debootstrap)
	defer debian.Stop()
	for _, step := range b.steps(tag, debian) {
		if err := b.Progress.Step(ctx, step.title, step.do); err != nil {
			return "", err
		}
	}
	b.removeOlder(ctx, tag)
	return tag, os.RemoveAll(b.Work)
}

func (b *Builder) tag(release Release) (string, error) {
	return release.Tag(b.source(), b.KindVersion, b.Engine.Info.Platform.Arch)
}

// checkBuild returns an error if this machine cannot build an image for the engine. The build runs
// Debian's programs in a root file system.
func checkBuild(here host.Platform, engine host.Engine, root bool) error {
	platform := engine.Info.Platform
	const pull = "set NODE_IMAGE to an image that can be pulled"
	switch {
	case here.OS != "linux":
		return fmt.Errorf("cannot build the node image on %s: it takes debootstrap and chroot; %s", here.OS, pull)
	case here.Arch != platform.Arch:
		return fmt.Errorf("cannot build the node image for %s on %s: the build runs programs of the image; %s", platform.Arch,
			here.Arch, pull)
	case engine.Client() != "docker":
		return fmt.Errorf("cannot build the node image with %s: this was tried with Docker only; %s", engine.Client(), pull)
	case !root:
		return fmt.Errorf("cannot build the node image: debootstrap and chroot take root; run: sudo make up, or %s", pull)
	}
	return nil
}

type step struct {
	title string
	do    func(ctx context.Context, log io.Writer) error
}

func (b *Builder) steps(tag string, debian *progress.Background) []step {
	return []step{
		{"compiling " + names(b.Release.modules()), func(ctx context.Context, log io.Writer) error {
			defer b.Compiled()
			return host.WithHugePages(log, func() error { return b.compileAll(ctx, log) })
		}},
		{"making the root file system", func(ctx context.Context, log io.Writer) error {
			if err := debian.Wait(log); err != nil {
				return err
			}
			return b.fillRootfs(ctx, log)
		}},
		{"making the control-plane images", b.makeImages},
		{"assembling the node image", func(ctx context.Context, log io.Writer) error {
			return b.assemble(ctx, log, tag)
		}},
	}
}

// removeOlder removes the images of other inputs to free disk space. It keeps the image that was built,
// also if its inputs have changed since the build began, and the current image of each release. Docker
// does not remove an image that a container uses, so the next build tries again.
func (b *Builder) removeOlder(ctx context.Context, built string) {
	keep := []string{built}
	for _, release := range releases {
		tag, err := b.tag(release)
		if err != nil {
			return
		}
		keep = append(keep, tag)
	}
	out, err := b.Engine.Docker("image", "ls", "--format", "{{.Repository}}:{{.Tag}}", repository).Output(ctx, io.Discard)
	if err != nil {
		return
	}
	for _, image := range strings.Fields(out) {
		if !slices.Contains(keep, image) {
			_ = b.Engine.Docker("image", "rm", image).Run(ctx, io.Discard)
		}
	}
}
