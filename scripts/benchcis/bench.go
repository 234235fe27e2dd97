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
	"github.com/bulkhead-k8s/bulkhead/kind/progress"
)

const (
	// benchmark is the newest one that kube-bench has. It does not map newer Kubernetes versions to it.
	benchmark = "cis-1.12"
	// module pins kube-bench's version.
	module  = "github.com/aquasecurity/kube-bench"
	pinning = "scripts/kube-bench"
	// inside is kube-bench's folder in a node while it runs.
	inside = "/kind/bulkhead-cis"
)

// bench runs kube-bench on two nodes.
type bench struct {
	engine               host.Engine
	progress             *progress.Reporter
	root, output         string
	controlPlane, worker string
	// override has other audit commands, by the ID of their check.
	override map[string]string
}

// allTargets are all sections of the benchmark. A worker has only the last one.
const allTargets = "master,controlplane,etcd,policies,node"

func (b *bench) run(ctx context.Context) (result, error) {
	r := result{}
	staging := filepath.Join(b.output, "kube-bench")
	if err := b.step(ctx, "building kube-bench", func(ctx context.Context, log io.Writer) (err error) {
		r.version, err = b.stage(ctx, log, staging)
		return err
	}); err != nil {
		return r, err
	}
	for _, scan := range []struct {
		title, node, folder string
		targets             string
		into                *[]check
	}{
		{"the control plane", b.controlPlane, unmodified, allTargets, &r.controlPlane},
		{"the control plane, with the override", b.controlPlane, overridden, allTargets, &r.override},
		{"the worker", b.worker, unmodified, "node", &r.worker},
	} {
		if err := b.step(ctx, "running "+benchmark+" on "+scan.title, func(ctx context.Context, log io.Writer) (err error) {
			*scan.into, err = b.scan(ctx, log, scan.node, staging, scan.folder, scan.targets)
			return err
		}); err != nil {
			return r, err
		}
	}
	return r, b.step(ctx, "reading the version of Kubernetes", func(ctx context.Context, log io.Writer) (err error) {
		out, err := b.engine.Docker("exec", b.controlPlane, "kubelet", "--version").Output(ctx, log)
		r.kubernetes = strings.TrimPrefix(out, "Kubernetes ")
		return err
	})
}

func (b *bench) step(ctx context.Context, title string, do func(context.Context, io.Writer) error) error {
	return b.progress.Step(ctx, title, do)
}

// stage builds kube-bench and puts it in a folder, with its checks and the overridden ones. It returns
// kube-bench's version.
func (b *bench) stage(ctx context.Context, log io.Writer, staging string) (string, error) {
	if err := os.RemoveAll(staging); err != nil {
		return "", err
	}
	build := progress.Command{
		Dir: filepath.Join(b.root, pinning),
		Env: []string{"CGO_ENABLED=0", "GOWORK=off", host.GoFlags},
		Args: []string{"go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(staging, "kube-bench"),
			module},
	}
	if err := build.Run(ctx, log); err != nil {
		return "", err
	}
	build.Args = []string{"go", "list", "-m", "-f", "{{.Dir}} {{.Version}}", module}
	found, err := build.Output(ctx, log)
	if err != nil {
		return "", err
	}
	dir, version, _ := strings.Cut(found, " ")
	for folder, override := range map[string]map[string]string{unmodified: nil, overridden: b.override} {
		if err := copyChecks(filepath.Join(dir, "cfg"), filepath.Join(staging, folder), override); err != nil {
			return "", fmt.Errorf("cannot copy kube-bench's checks: %w", err)
		}
	}
	return version, nil
}

// scan copies kube-bench to a node, runs it there, and removes it.
func (b *bench) scan(ctx context.Context, log io.Writer, node, staging, folder, targets string) ([]check, error) {
	defer func() {
		_ = b.engine.Docker("exec", node, "rm", "-rf", inside).Run(context.WithoutCancel(ctx), log)
	}()
	if err := b.engine.Docker("exec", node, "rm", "-rf", inside).Run(ctx, log); err != nil {
		return nil, err
	}
	if err := b.engine.Docker("cp", staging, node+":"+inside).Run(ctx, log); err != nil {
		return nil, err
	}
	dir := inside + "/" + folder
	out, err := b.engine.Docker("exec", "--workdir", inside, node, inside+"/kube-bench", "run", "--json",
		"--targets="+targets, "--benchmark="+benchmark, "--config-dir="+dir, "--config="+dir+"/config.yaml").Output(ctx, log)
	if err != nil {
		return nil, err
	}
	return parseChecks([]byte(out))
}
