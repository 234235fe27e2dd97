// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// client is the client of a fake engine, which really pulls. Its state is in a folder: the commands that
// it got, the names of its images, and the files of the last image.
type client struct{ dir, arch string }

const info = `{"OSType":"linux","Architecture":%q,"CgroupVersion":"2","MemoryLimit":true,"PidsLimit":true,` +
	`"CPUShares":true}` + "\n"

func (c client) run(args []string, in io.Reader, out io.Writer) error {
	if err := c.record(args); err != nil {
		return err
	}
	switch command := strings.Join(args[:min(len(args), 2)], " "); {
	case args[0] == "info":
		_, err := fmt.Fprintf(out, info, c.arch)
		return err
	case command == "image inspect":
		return c.has(args[len(args)-1])
	case args[0] == "pull":
		return c.pull(args[1])
	case args[0] == "import":
		_, err := io.Copy(io.Discard, in)
		return errors.Join(err, c.add(args[2]))
	case args[0] == "exec" && slices.Equal(args[2:4], []string{"test", "-e"}):
		_, err := os.Stat(filepath.Join(c.dir, "files", args[4]))
		return err
	case args[0] == "run", args[0] == "ps":
		return nil
	}
	return fmt.Errorf("the fake engine does not know the command %q", args)
}

func (c client) record(args []string) error { return c.appendTo("commands", strings.Join(args, " ")) }

func (c client) add(image string) error { return c.appendTo("images", image) }

func (c client) appendTo(file, line string) error {
	f, err := os.OpenFile(filepath.Join(c.dir, file), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

// lines returns the lines of a file of the state. There are none if it does not exist.
func (c client) lines(file string) []string {
	raw, _ := os.ReadFile(filepath.Join(c.dir, file))
	return strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
}

func (c client) has(image string) error {
	if slices.Contains(c.lines("images"), image) {
		return nil
	}
	return fmt.Errorf("no such image: %s", image)
}

// pull stores the files of the image for the engine's architecture. remote compares every digest.
func (c client) pull(image string) error {
	reference, err := name.ParseReference(image)
	if err != nil {
		return err
	}
	pulled, err := remote.Image(reference, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: c.arch}))
	if err != nil {
		return err
	}
	digest, err := pulled.Digest()
	if err != nil {
		return err
	}
	if err := c.unpack(pulled); err != nil {
		return err
	}
	return errors.Join(c.appendTo("digests", digest.String()), c.add(image))
}

func (c client) unpack(image v1.Image) error {
	content := mutate.Extract(image)
	defer func() { _ = content.Close() }()
	for files := tar.NewReader(content); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		file := filepath.Join(c.dir, "files", filepath.Clean("/"+header.Name))
		raw, err := io.ReadAll(files)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			return err
		}
		if err := os.WriteFile(file, raw, 0o600); err != nil {
			return err
		}
	}
}
