// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// runSpecs runs one call of Ginkgo and counts what came of it.
func (r *run) runSpecs(ctx context.Context, j job, out io.Writer) (count, error) {
	artifacts := filepath.Dir(j.report)
	if err := os.RemoveAll(artifacts); err != nil {
		return count{}, err
	}
	if err := os.MkdirAll(artifacts, 0o755); err != nil {
		return count{}, err
	}
	suites, err := r.findSuites()
	if err != nil {
		return count{}, err
	}
	env, err := r.nodeEnv(ctx)
	if err != nil {
		return count{}, err
	}
	env = slices.Concat(env, []string{"E2E_KUBECONFIG=" + j.kubeconfig, "E2E_PROFILE=" + j.profile, "E2E_ARTIFACTS=" + artifacts})
	ran := r.ginkgo(ctx, j.ginkgoRun, suites, artifacts, env, out)
	counted, err := countJUnit(j.report)
	switch {
	case err != nil || counted.failed > 0:
	case ran != nil:
		err = fmt.Errorf("%s: ginkgo failed, and yet no spec did: %w", j.name, ran)
	case j.noSkips && counted.skipped > 0:
		err = fmt.Errorf("%s: %d specs were skipped where none may be", j.name, counted.skipped)
	case counted == count{}:
		err = fmt.Errorf("%s: no spec ran", j.name)
	}
	return counted, err
}

func (r *run) ginkgo(ctx context.Context, g ginkgoRun, suites []string, artifacts string, env []string, out io.Writer) error {
	args := []string{
		"run", "--no-color", "--keep-going", "--timeout=50m", "--poll-progress-after=90s", "--silence-skips",
		"--output-dir=" + artifacts, "--junit-report=" + g.name + ".junit.xml",
		"--label-filter=" + g.label, fmt.Sprintf("--procs=%d", max(1, g.procs)),
	}
	for _, name := range g.of(suites) {
		// Ginkgo leaves out without a word what is not there.
		if _, err := os.Stat(r.compiledSuite(name)); err != nil {
			return fmt.Errorf("the suite %s is not compiled: %w", name, err)
		}
		args = append(args, r.compiledSuite(name))
	}
	cmd := interruptible(exec.CommandContext(ctx, filepath.Join(r.output, "bin", "ginkgo"), args...))
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = r.root, env, out, out
	return cmd.Run()
}

// countJUnit counts the specs of Ginkgo's report. A spec that the label filter
// left out is marked as skipped without a reason: it belongs to another call, and
// does not count here.
func countJUnit(file string) (count, error) {
	report, err := readJUnit(file)
	if err != nil {
		return count{}, err
	}
	var counted count
	for _, c := range report.Cases {
		switch {
		case c.Failure != nil || c.Error != nil:
			counted.failed++
		case c.Skipped == nil && strings.HasPrefix(c.Name, "[It]"):
			counted.passed++
		case c.Skipped != nil && c.Skipped.Message != "skipped":
			counted.skipped++
		}
	}
	return counted, nil
}
