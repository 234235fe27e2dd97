// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
	"github.com/bulkhead-k8s/bulkhead/kind/host"
)

// blobs is where containerd keeps the layers of the images in a node image.
const blobs = "/var/lib/containerd/io.containerd.content.v1.content/blobs/sha256"

var errNoNodeImage = errors.New("no node image on this machine")

// fromNodeImage copies programs out of the control-plane images that lie in the
// project's node image, without running anything of it.
func fromNodeImage(ctx context.Context, dir string, programs ...string) error {
	engine, image, err := findNodeImage(ctx)
	if err != nil {
		return err
	}
	// It never runs. It is removed also when it is being made while we are interrupted.
	container := fmt.Sprintf("bulkhead-bench-%d", os.Getpid())
	defer func() { _ = docker(context.WithoutCancel(ctx), engine, "rm", "--volumes", container).Run() }()
	if err := docker(ctx, engine, "create", "--name", container, image).Run(); err != nil {
		return fmt.Errorf("making a container of %s: %w", image, err)
	}
	copying := docker(ctx, engine, "cp", container+":"+blobs, "-")
	out, err := copying.StdoutPipe()
	if err != nil {
		return err
	}
	if err := copying.Start(); err != nil {
		return fmt.Errorf("copying out of %s: %w", image, err)
	}
	missing, readErr := takeFromBlobs(out, dir, programs)
	_, drainErr := io.Copy(io.Discard, out)
	if err := errors.Join(readErr, drainErr, copying.Wait()); err != nil {
		return fmt.Errorf("copying out of %s: %w", image, err)
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s has no %s", image, strings.Join(missing, ", "))
	}
	return nil
}

func docker(ctx context.Context, engine host.Engine, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "docker", args...)
	cmd.Env = append(os.Environ(), engine.Env()...)
	return cmd
}

// findNodeImage finds one of the Kubernetes that we are measured against, ours or
// kind's. It starts and builds nothing.
func findNodeImage(ctx context.Context) (host.Engine, string, error) {
	engine, running := host.Running(ctx, io.Discard)
	if !running {
		return engine, "", errNoNodeImage
	}
	for _, repository := range []string{"bulkhead.local/node", "kindest/node"} {
		out, err := docker(ctx, engine, "image", "ls", "--format", "{{.Repository}}:{{.Tag}}", repository).Output()
		if err != nil {
			return engine, "", fmt.Errorf("listing node images: %w", err)
		}
		for _, image := range strings.Fields(string(out)) {
			if strings.HasPrefix(image, repository+":"+report.KubernetesVersion()) {
				return engine, image, nil
			}
		}
	}
	return engine, "", errNoNodeImage
}

// takeFromBlobs reads an archive of blobs. Some of them are layers, which are
// archives themselves.
func takeFromBlobs(in io.Reader, dir string, programs []string) (missing []string, err error) {
	wanted := map[string]bool{}
	for _, program := range programs {
		wanted[program] = true
	}
	for archive := tar.NewReader(in); len(wanted) > 0; {
		if _, err := archive.Next(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if err := takeFromLayer(archive, dir, wanted); err != nil {
			return nil, err
		}
	}
	for program := range wanted {
		missing = append(missing, program)
	}
	return missing, nil
}

// takeFromLayer does nothing with a blob that is no archive: a manifest.
func takeFromLayer(blob io.Reader, dir string, wanted map[string]bool) error {
	buffered := bufio.NewReader(blob)
	var layer io.Reader = buffered
	if magic, _ := buffered.Peek(2); string(magic) == "\x1f\x8b" {
		unzipped, err := gzip.NewReader(buffered)
		if err != nil {
			return err
		}
		layer = unzipped
	}
	for archive := tar.NewReader(layer); ; {
		header, err := archive.Next()
		if err != nil {
			return nil //nolint:nilerr // the end, or never was an archive
		}
		name := path.Base(header.Name)
		if header.Typeflag != tar.TypeReg || !wanted[name] || path.Base(path.Dir(header.Name)) != "bin" {
			continue
		}
		if err := write(filepath.Join(dir, name), archive); err != nil {
			return err
		}
		delete(wanted, name)
	}
}

func write(file string, content io.Reader) error {
	out, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o700) //nolint:gosec // it is a program
	if err != nil {
		return err
	}
	_, err = io.Copy(out, content)
	return errors.Join(err, out.Close())
}
