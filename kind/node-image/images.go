// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/bulkhead-k8s/bulkhead/kind/progress"
)

// image is an image that kubeadm needs. It contains one static program.
type image struct {
	name    string
	program string
	// path is the path of the program in the image.
	path       string
	entrypoint bool
	// root is a prepared folder for the image's other files. If it is empty, there are none.
	root string
}

func (b *Builder) images() []image {
	kube := func(program string) image {
		return image{name: "registry.k8s.io/" + program + ":" + b.Release.Version, program: program,
			path: "/usr/local/bin/" + program}
	}
	proxy := kube("kube-proxy")
	proxy.root = filepath.Join(b.Work, "kube-proxy")
	return []image{
		kube("kube-apiserver"), kube("kube-controller-manager"), kube("kube-scheduler"), proxy,
		{name: b.Release.etcd, program: "etcd", path: "/usr/local/bin/etcd"},
		{name: b.Release.coredns, program: "coredns", path: "/coredns", entrypoint: true},
		{name: b.Release.pause, program: "pause", path: "/pause", entrypoint: true},
	}
}

func (b *Builder) makeImages(ctx context.Context, log io.Writer) error {
	pause := progress.Command{
		Dir: b.Root, Env: b.goEnv(),
		Args: []string{"go", "build", "-trimpath", "-ldflags=-s -w", "-o", b.binary("pause"), "./kind/node-image/pause"},
	}
	if err := pause.Run(ctx, log); err != nil {
		return err
	}
	proxyRoot := progress.Command{
		Dir:  b.source(),
		Env:  []string{"ROOTFS=" + b.rootfs(), "OUT=" + filepath.Join(b.Work, "kube-proxy")},
		Args: []string{"./kube-proxy-files.sh"},
	}
	if err := proxyRoot.Run(ctx, log); err != nil {
		return err
	}
	for _, image := range b.images() {
		if err := b.makeImage(ctx, log, image); err != nil {
			return fmt.Errorf("making %s: %w", image.name, err)
		}
	}
	return nil
}

func (b *Builder) makeImage(ctx context.Context, log io.Writer, image image) error {
	root := image.root
	if root == "" {
		root = filepath.Join(b.Work, "images", image.program)
		if err := os.RemoveAll(root); err != nil {
			return err
		}
	}
	target := filepath.Join(root, image.path)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(root, "tmp"), 0o1777); err != nil {
		return err
	}
	if err := os.Link(b.binary(image.program), target); err != nil {
		return err
	}
	args := []string{"import", "--change", "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	if image.entrypoint {
		args = append(args, "--change", fmt.Sprintf("ENTRYPOINT [%q]", image.path))
	}
	return b.importFolder(ctx, log, root, append(args, "-", image.name))
}

// importFolder sends a folder as a tar archive to a docker command.
func (b *Builder) importFolder(ctx context.Context, log io.Writer, folder string, dockerArgs []string) error {
	archive, pipe := io.Pipe()
	tarred := make(chan error, 1)
	go func() {
		err := tarFolder(ctx, log, folder, pipe)
		_ = pipe.CloseWithError(err)
		tarred <- err
	}()
	load := b.Engine.Docker(dockerArgs...)
	load.Stdin = archive
	err := load.Run(ctx, log)
	_ = archive.Close()
	if tarErr := <-tarred; err == nil {
		err = tarErr
	}
	return err
}
