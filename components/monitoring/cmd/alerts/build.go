// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/prometheus/prometheus/model/rulefmt"

	"github.com/bulkhead-k8s/bulkhead/kind/progress"
)

// build builds Prometheus, in the version that the module requires, with the service discovery of
// Kubernetes only. It also builds this program.
func (c *cluster) build(ctx context.Context, log io.Writer) error {
	module := filepath.Join(c.root, "components", "monitoring")
	list := progress.Command{Dir: module, Args: []string{"go", "list", "-m", "-f", "{{.Version}}", promModule}}
	version, err := list.Output(ctx, log)
	if err != nil {
		return err
	}
	c.prometheusVersion = version
	cache, err := progress.Command{Args: []string{"go", "env", "GOMODCACHE"}}.Output(ctx, log)
	if err != nil {
		return err
	}
	output, err := filepath.Abs(c.output)
	if err != nil {
		return err
	}
	// Go puts a program for another platform into a folder below GOPATH only.
	environment := append(c.engine.Info.Platform.Env(), "CGO_ENABLED=0", "GOWORK=off", "GOBIN=", "GOPATH="+output,
		"GOMODCACHE="+cache)
	install := progress.Command{Dir: output, Env: environment, Args: []string{"go", "install",
		"-tags=remove_all_sd,enable_kubernetes_sd", promModule + "/cmd/prometheus@" + version}}
	if err := install.Run(ctx, log); err != nil {
		return err
	}
	build := progress.Command{Dir: module, Env: append(environment, "GOPATH="), Args: []string{"go", "build", "-o",
		filepath.Join(output, promPod), "./cmd/alerts"}}
	if err := build.Run(ctx, log); err != nil {
		return err
	}
	return c.buildPanicking(ctx, output, log)
}

// program returns the path of Prometheus after build.
func (c *cluster) program() (string, error) {
	platform := c.engine.Info.Platform
	for _, dir := range []string{"bin", filepath.Join("bin", platform.OS+"_"+platform.Arch)} {
		if file := filepath.Join(c.output, dir, "prometheus"); exists(file) {
			return file, nil
		}
	}
	return "", errors.New("cannot find Prometheus after go install")
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// copyFiles copies the programs and the configuration to the worker. scrape.yaml is copied as it is.
func (c *cluster) copyFiles(ctx context.Context, log io.Writer, groups *rulefmt.RuleGroups) error {
	rules, err := shortened(groups)
	if err != nil {
		return err
	}
	staging := filepath.Join(c.output, "staging")
	// Prometheus is not root.
	err = errors.Join(os.RemoveAll(staging),
		os.MkdirAll(filepath.Join(staging, "scrape"), 0o755)) //nolint:gosec // no secret
	if err != nil {
		return err
	}
	program, err := c.program()
	if err != nil {
		return err
	}
	for from, to := range map[string]string{
		program: "prometheus", filepath.Join(c.output, promPod): "alerts",
		filepath.Join(c.root, scrapePath): "scrape/scrape.yaml",
	} {
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(staging, to), text, 0o755); err != nil { //nolint:gosec // programs
			return err
		}
	}
	for name, text := range map[string]string{
		"rules.yaml": string(rules),
		"prometheus.yaml": fmt.Sprintf(configuration, scrapeInterval, promFolder, podStatusPort,
			c.serverAddress),
	} {
		if err := os.WriteFile(filepath.Join(staging, name), []byte(text), 0o644); err != nil { //nolint:gosec // no secret
			return err
		}
	}
	if err := c.onWorker(ctx, "rm -rf "+promFolder); err != nil {
		return err
	}
	return c.engine.Docker("cp", staging, c.worker+":"+promFolder).Run(ctx, log)
}
