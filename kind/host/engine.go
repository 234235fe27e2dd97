// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package host finds a Docker engine that can run kind's privileged containers. If the machine's
// own engine cannot, it prepares a private one.
//
// It never changes or stops an existing daemon.
package host

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/bulkhead-k8s/bulkhead/kind/progress"
)

const probeImage = "bulkhead.local/probe:1"

// Engine is a Docker engine that has run a privileged container.
type Engine struct {
	// Host is the value of DOCKER_HOST. If it is empty, the user's environment is not changed.
	Host string
	// Private is true for the engine that this package started. The host of this engine lacks
	// CAP_SYS_RESOURCE.
	Private bool
}

// Env returns the environment variables for a docker command. It selects the legacy builder,
// because an engine may lack buildx.
func (e Engine) Env() []string {
	env := []string{"DOCKER_BUILDKIT=0"}
	if e.Host != "" {
		env = append(env, "DOCKER_HOST="+e.Host)
	}
	return env
}

// Docker returns a docker command for this engine.
func (e Engine) Docker(args ...string) progress.Command {
	return progress.Command{Env: e.Env(), Args: append([]string{"docker"}, args...)}
}

// Find returns an engine that runs privileged containers. It prefers the machine's own engine.
// Otherwise it returns the private one, and starts it if needed. build builds a static binary from
// a package of this module.
//
// The error is one sentence that says what is missing and what to do.
func Find(ctx context.Context, log io.Writer, build Build) (Engine, error) {
	forgetPrivate()
	own := Engine{}
	ownErr := own.probe(ctx, log, build)
	if ownErr == nil {
		return own, nil
	}
	fmt.Fprintf(log, "the machine's own engine: %v\n", ownErr)
	private := Engine{Host: "unix://" + socket, Private: true}
	if private.probe(ctx, log, build) == nil {
		return private, nil
	}
	if err := canPrepare(); err != nil {
		return Engine{}, fmt.Errorf(
			"`docker run --privileged` does not work here (%w), and no private engine can be prepared: %w", ownErr, err)
	}
	if err := startPrivate(ctx, log, build); err != nil {
		return Engine{}, err
	}
	if err := private.probe(ctx, log, build); err != nil {
		return Engine{}, fmt.Errorf("the private engine cannot run privileged containers either: %w; see %s", err, daemonLog)
	}
	return private, nil
}

// forgetPrivate undoes `eval "$(make env)"` for this process. Otherwise the private engine would
// look like the machine's own.
func forgetPrivate() {
	if os.Getenv("DOCKER_HOST") == "unix://"+socket {
		_ = os.Unsetenv("DOCKER_HOST")
	}
}

// Running returns the engine of an existing cluster. It starts no engine.
func Running(ctx context.Context, log io.Writer) (Engine, bool) {
	forgetPrivate()
	private := Engine{Host: "unix://" + socket, Private: true}
	if private.answers(ctx, log) {
		return private, true
	}
	own := Engine{}
	return own, own.answers(ctx, log)
}

func (e Engine) answers(ctx context.Context, log io.Writer) bool {
	_, err := e.Docker("version", "--format", "{{.Server.Version}}").Output(ctx, log)
	return err == nil
}

// probe runs a privileged container, because no check of the machine would be reliable.
func (e Engine) probe(ctx context.Context, log io.Writer, build Build) error {
	if !e.answers(ctx, log) {
		return fmt.Errorf("no Docker engine answers")
	}
	if _, err := e.Docker("image", "inspect", probeImage).Output(ctx, io.Discard); err != nil {
		if err := e.importProbe(ctx, log, build); err != nil {
			return err
		}
	}
	run := e.Docker("run", "--rm", "--privileged", "--network", "none", probeImage, "/probe")
	if err := run.Run(ctx, log); err != nil {
		return fmt.Errorf("the engine refuses privileged containers: %w", err)
	}
	return nil
}

func (e Engine) importProbe(ctx context.Context, log io.Writer, build Build) error {
	dir, err := os.MkdirTemp("", "bulkhead-probe")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary := filepath.Join(dir, "probe")
	if err := build(ctx, log, "./kind/host/probe", binary); err != nil {
		return err
	}
	archive, err := tarOf("probe", binary)
	if err != nil {
		return err
	}
	load := e.Docker("import", "-", probeImage)
	load.Stdin = archive
	return load.Run(ctx, log)
}

func tarOf(name, file string) (io.Reader, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(raw))}); err != nil {
		return nil, err
	}
	if _, err := w.Write(raw); err != nil {
		return nil, err
	}
	return &buf, w.Close()
}
