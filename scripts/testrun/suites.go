// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// ginkgoRun is one call of Ginkgo.
type ginkgoRun struct {
	// name is that of its report.
	name     string
	label    string
	procs    int
	packages []string
}

// parallel are calls of Ginkgo that run at the same time: the last one prints as
// it goes, the others when they have ended.
type parallel []ginkgoRun

// wholeSuite is every spec once. Certificates are watched through two renewals,
// which takes its time and disturbs nobody, beside all that disturbs nobody
// either; what breaks the cluster on purpose comes after and runs alone.
var wholeSuite = []parallel{
	{
		{name: "certificates", packages: []string{"./e2e/certificates"}},
		{name: "rules", label: "!disruptive", procs: 3, packages: []string{"-r", "--skip-package=certificates,framework", "./e2e"}},
	},
	{
		{name: "disruptive", label: "disruptive", packages: []string{"-r", "--skip-package=framework", "./e2e"}},
	},
}

// suites runs everything in order, on the cluster that is up.
func (r *run) suites(ctx context.Context, profile string, all []parallel) error {
	artifacts := filepath.Join(r.output, "e2e", profile)
	if err := os.RemoveAll(artifacts); err != nil {
		return err
	}
	if err := os.MkdirAll(artifacts, 0o755); err != nil {
		return err
	}
	env, err := r.nodeEnv(ctx)
	if err != nil {
		return err
	}
	env = slices.Concat(env, []string{"E2E_KUBECONFIG=" + r.kubeconfig(), "E2E_PROFILE=" + profile, "E2E_ARTIFACTS=" + artifacts})
	var errs error
	for _, together := range all {
		names := make([]string, 0, len(together))
		for _, g := range together {
			names = append(names, g.name)
		}
		errs = errors.Join(errs, r.timed("end-to-end, "+profile+": "+strings.Join(names, " and "), func() (count, error) {
			return r.together(ctx, together, artifacts, env)
		}))
	}
	return errs
}

func (r *run) together(ctx context.Context, runs parallel, artifacts string, env []string) (count, error) {
	var (
		group    sync.WaitGroup
		outputs  = make([]bytes.Buffer, len(runs))
		runErrs  = make([]error, len(runs))
		counted  count
		together error
	)
	last := len(runs) - 1
	for i, g := range runs {
		group.Go(func() {
			var out io.Writer = &outputs[i]
			if i == last {
				out = os.Stdout
			}
			runErrs[i] = r.ginkgo(ctx, g, artifacts, env, out)
		})
	}
	group.Wait()
	for i, g := range runs {
		_, _ = io.Copy(os.Stdout, &outputs[i])
		one, err := countJUnit(filepath.Join(artifacts, g.name+".junit.xml"))
		switch {
		case err != nil || one.failed > 0:
		case runErrs[i] != nil:
			err = fmt.Errorf("%s: ginkgo failed, and yet no spec did: %w", g.name, runErrs[i])
		case r.noSkips && one.skipped > 0:
			err = fmt.Errorf("%s: %d specs were skipped where none may be", g.name, one.skipped)
		case one == count{}:
			err = fmt.Errorf("%s: no spec ran", g.name)
		}
		counted.add(one)
		together = errors.Join(together, err)
	}
	return counted, together
}

func (r *run) ginkgo(ctx context.Context, g ginkgoRun, artifacts string, env []string, out io.Writer) error {
	args := []string{
		"run", "--no-color", "--keep-going", "--timeout=40m", "--poll-progress-after=90s", "--silence-skips",
		"--output-dir=" + artifacts, "--junit-report=" + g.name + ".junit.xml",
		"--label-filter=" + g.label, fmt.Sprintf("--procs=%d", max(1, g.procs)),
	}
	cmd := exec.CommandContext(ctx, filepath.Join(r.output, "bin", "ginkgo"), append(args, g.packages...)...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = r.root, env, out, out
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd.Run()
}

// countJUnit counts the specs of Ginkgo's report. A spec that the label filter
// left out is marked as skipped without a reason: it belongs to another call, and
// does not count here.
func countJUnit(file string) (count, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return count{}, fmt.Errorf("reading the suite's report: %w", err)
	}
	var report struct {
		Cases []struct {
			Name    string    `xml:"name,attr"`
			Failure *struct{} `xml:"failure"`
			Error   *struct{} `xml:"error"`
			Skipped *struct {
				Message string `xml:"message,attr"`
			} `xml:"skipped"`
		} `xml:"testsuite>testcase"`
	}
	if err := xml.Unmarshal(raw, &report); err != nil {
		return count{}, fmt.Errorf("reading the suite's report: %w", err)
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
