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

	"golang.org/x/sync/errgroup"

	"github.com/bulkhead-k8s/bulkhead/kind/host"
	"github.com/bulkhead-k8s/bulkhead/kind/progress"
)

// compileAll compiles Kubernetes, which takes longest, and containerd in parallel to it. So both cores
// have work while one compilation links or waits for sources. The other modules use the versions of
// packages that Kubernetes uses. They are compiled after it, so that only few packages are left.
func (b *Builder) compileAll(ctx context.Context, log io.Writer) error {
	modules := b.Release.modules()
	group, inGroup := errgroup.WithContext(ctx)
	for _, m := range modules[:2] {
		// Both write to log, which must be safe for concurrent use.
		group.Go(func() error { return b.compile(inGroup, log, m) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, m := range modules[2:] {
		if err := b.compile(ctx, log, m); err != nil {
			return err
		}
	}
	return nil
}

func names(modules []module) string {
	var all []string
	for _, m := range modules {
		all = append(all, m.dir)
	}
	return strings.Join(all, ", ")
}

// compile builds the programs of a module for the engine.
func (b *Builder) compile(ctx context.Context, log io.Writer, m module) error {
	if err := os.MkdirAll(b.bin(), 0o755); err != nil {
		return err
	}
	args := []string{"go", "build", "-trimpath", "-o", b.bin() + string(filepath.Separator),
		"-ldflags", b.Release.ldflags()}
	if m.tags != "" {
		args = append(args, "-tags", m.tags)
	}
	build := progress.Command{
		Dir:  filepath.Join(b.source(), m.dir),
		Env:  b.goEnv(),
		Args: append(args, m.packages),
	}
	if err := build.Run(ctx, log); err != nil {
		return fmt.Errorf("compiling %s: %w", m.dir, err)
	}
	for from, to := range m.renamed {
		if err := os.Rename(b.binary(from), b.binary(to)); err != nil {
			return err
		}
	}
	return nil
}

func (b *Builder) goEnv() []string {
	return append(slices.Concat(b.Engine.Info.Platform.Env(), host.CompilerEnv()),
		"CGO_ENABLED=0", host.GoFlags, "GOWORK=off")
}

// ldflags returns the flags that set the version in Kubernetes programs. Without them, kubeadm and
// kubelet report v0.0.0 and reject each other.
func (r Release) ldflags() string {
	parts := strings.SplitN(strings.TrimPrefix(r.Version, "v"), ".", 3)
	const pkg = "k8s.io/component-base/version."
	flags := []string{"-s", "-w"}
	for name, value := range map[string]string{
		"gitVersion": r.Version, "gitMajor": parts[0], "gitMinor": parts[1],
		"gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z",
	} {
		flags = append(flags, fmt.Sprintf("-X %s%s=%s", pkg, name, value))
	}
	return strings.Join(flags, " ")
}

// debootstrap creates the Debian part of the root file system.
func (b *Builder) debootstrap(ctx context.Context, log io.Writer) error {
	if err := os.RemoveAll(b.rootfs()); err != nil {
		return err
	}
	return b.runRootfs(ctx, log, "debian")
}

func (b *Builder) fillRootfs(ctx context.Context, log io.Writer) error {
	return b.runRootfs(ctx, log, "fill")
}

func (b *Builder) runRootfs(ctx context.Context, log io.Writer, part string) error {
	return progress.Command{
		Dir: b.source(),
		Env: []string{
			"ROOTFS=" + b.rootfs(), "BIN=" + b.bin(), "VERSION=" + b.Release.Version, "PAUSE=" + b.Release.pause,
			"KIND_FILES=" + filepath.Join(b.KindDir, "images", "base", "files"),
		},
		Args: []string{"./rootfs.sh", part},
	}.Run(ctx, log)
}
