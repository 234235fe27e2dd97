// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package host finds an engine that can run kind's privileged containers: Docker, podman or nerdctl.
// If the machine's own engine cannot, it prepares a private Docker engine as the last resort.
//
// It never changes or stops an existing daemon.
package host

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/kind/progress"
)

const probeImage = "bulkhead.local/probe:1"

// Engine is an engine that has run a privileged container.
type Engine struct {
	// Host is the value of DOCKER_HOST. If it is empty, the user's environment is not changed.
	Host string
	// Private is true for the engine that this package started. The host of this engine lacks
	// CAP_SYS_RESOURCE.
	Private bool
	// Why is the reason for a private engine.
	Why string
	// Info is what the engine reported when it was found.
	Info Info

	client string
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

// Docker returns a command of the engine's client. The other clients have docker's commands.
func (e Engine) Docker(args ...string) progress.Command {
	return progress.Command{Env: e.Env(), Args: append([]string{e.Client()}, args...)}
}

// OtherNodes returns how many nodes of other kind clusters than this one run on the engine. All nodes
// share the memory and the inotify instances of its machine.
func (e Engine) OtherNodes(ctx context.Context, log io.Writer, cluster string) (int, error) {
	const label = "label=io.x-k8s.kind.cluster"
	count := func(filter string) (int, error) {
		out, err := e.Docker("ps", "--quiet", "--filter", filter).Output(ctx, log)
		return len(strings.Fields(out)), err
	}
	all, err := count(label)
	if err != nil {
		return 0, fmt.Errorf("listing the nodes that run: %w", err)
	}
	own, err := count(label + "=" + cluster)
	if err != nil {
		return 0, fmt.Errorf("listing the nodes of %s: %w", cluster, err)
	}
	return all - own, nil
}

// Find returns an engine that runs privileged containers. It prefers the machine's own engines.
// Otherwise it returns the private one, and starts it if needed. A private engine that already runs
// stays in use until it is stopped: it may have a cluster. build builds a static binary from a
// package of this module.
//
// The error is one sentence that says what is missing and what to do.
func Find(ctx context.Context, log io.Writer, build Build) (Engine, error) {
	forgetPrivate()
	if private, runs := runningPrivate(ctx, log); runs {
		return findPrivate(ctx, log, build, private.Why)
	}
	engines, err := ownEngines(ctx, log)
	if err != nil {
		return Engine{}, err
	}
	var ownErr error
	for _, own := range engines {
		found, err := own.probe(ctx, log, build)
		if err == nil {
			return found, nil
		}
		fmt.Fprintf(log, "the machine's own engine %s: %v\n", own.Client(), err)
		if ownErr == nil {
			ownErr = err
		}
	}
	if errors.Is(ownErr, errPlatform) {
		return Engine{}, ownErr
	}
	first := engines[0]
	here := thisMachine(first)
	if err := here.mayPrepare(); err != nil {
		return Engine{}, fmt.Errorf("cannot run nodes with %s: %w (%w); %s", first.Client(), ownErr, err, here.repair(ownErr))
	}
	return findPrivate(ctx, log, build, "the machine's own engine cannot run nodes: "+ownErr.Error())
}

// findPrivate returns the private engine, which it starts if it does not run.
func findPrivate(ctx context.Context, log io.Writer, build Build, why string) (Engine, error) {
	private := privateEngine()
	private.Why = why
	if running, err := private.probe(ctx, log, build); err == nil {
		return running, nil
	}
	if err := startPrivate(ctx, log, build); err != nil {
		return Engine{}, err
	}
	running, err := private.probe(ctx, log, build)
	if err != nil {
		return Engine{}, fmt.Errorf("the private engine cannot run privileged containers either: %w; see %s", err, daemonLog)
	}
	return running, nil
}

func privateEngine() Engine { return Engine{Host: "unix://" + socket, Private: true} }

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
	if private, runs := runningPrivate(ctx, log); runs {
		return private, true
	}
	engines, err := ownEngines(ctx, log)
	if err != nil || engines[0].Info == (Info{}) {
		return Engine{}, false
	}
	return engines[0], true
}

// runningPrivate returns the private engine if it answers, unless the user has chosen another one:
// call forgetPrivate first.
func runningPrivate(ctx context.Context, log io.Writer) (Engine, bool) {
	chosen := os.Getenv(ProviderVariable)
	if os.Getenv("DOCKER_HOST") != "" || chosen != "" && chosen != docker {
		return Engine{}, false
	}
	private, err := privateEngine().ask(ctx, log)
	private.Why = "it already runs, and stays in use until make down"
	return private, err == nil
}

// probe runs a privileged container, because no check of the machine would be reliable. It returns
// the engine with its Info.
func (e Engine) probe(ctx context.Context, log io.Writer, build Build) (Engine, error) {
	e, err := e.ask(ctx, log)
	if err != nil {
		return e, err
	}
	if _, err := e.Docker("image", "inspect", e.probeImage()).Output(ctx, io.Discard); err != nil {
		if err := e.importProbe(ctx, log, build); err != nil {
			return e, err
		}
	}
	run := e.Docker("run", "--rm", "--privileged", "--network", "none", e.probeImage(), "/probe")
	if err := run.Run(ctx, log); err != nil {
		return e, fmt.Errorf("%w: %w", errNoPrivileges, err)
	}
	return e, nil
}

// probeImage names the architecture, because a virtual machine may have changed it.
func (e Engine) probeImage() string { return probeImage + "-" + e.Info.Platform.Arch }

func (e Engine) importProbe(ctx context.Context, log io.Writer, build Build) error {
	dir, err := os.MkdirTemp("", "bulkhead-probe")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary := filepath.Join(dir, "probe")
	if err := build(ctx, log, e.Info.Platform, "./kind/host/probe", binary); err != nil {
		return err
	}
	archive, err := tarOf("probe", binary)
	if err != nil {
		return err
	}
	load := e.Docker("import", "-", e.probeImage())
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
