// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ginkgoRun is one call of Ginkgo.
type ginkgoRun struct {
	// name is that of its report.
	name     string
	label    string
	procs    int
	packages []string
}

// Together these are every spec once. What breaks the cluster on purpose runs
// alone; the others leave it as they find it.
var (
	certificatesRun = ginkgoRun{name: "certificates", packages: []string{"./e2e/certificates"}}
	rulesRun        = ginkgoRun{name: "rules", label: "!disruptive", procs: 3, packages: []string{"-r", "--skip-package=certificates,crawler,framework,nodescope,slowwatch", "./e2e"}}
	disruptiveRun   = ginkgoRun{name: "disruptive", label: "disruptive", packages: []string{"-r", "--skip-package=crawler,framework,nodescope,slowwatch", "./e2e"}}
	// The crawl asks as fast as it is answered, and is judged by what nobody decided: it is
	// alone.
	crawlRun = ginkgoRun{name: "crawl", packages: []string{"./e2e/crawler"}}
	// Node scope is switched on by whoever wants it, so it is a run of its own.
	nodeScopeRun           = ginkgoRun{name: "node-scope", label: "!disruptive", procs: 3, packages: []string{"./e2e/nodescope"}}
	nodeScopeDisruptiveRun = ginkgoRun{name: "node-scope-disruptive", label: "disruptive", packages: []string{"./e2e/nodescope"}}
	// hardenedRuns are those of the profile that has everything.
	hardenedRuns = []ginkgoRun{rulesRun, nodeScopeRun, crawlRun, disruptiveRun, nodeScopeDisruptiveRun}
)

// wholeSuite is every spec that has something to say about the profile.
func (r *run) wholeSuite(ctx context.Context, profile string) error {
	if profile != "hardened" {
		return r.suites(ctx, profile, rulesRun, crawlRun, disruptiveRun)
	}
	// Not beside each other: a renewal costs the calls that are under way.
	return r.suites(ctx, profile, append(slices.Clone(hardenedRuns), certificatesRun)...)
}

// suites runs several calls of Ginkgo, one after the other.
func (r *run) suites(ctx context.Context, profile string, all ...ginkgoRun) error {
	var err error
	for _, g := range all {
		err = errors.Join(err, r.suite(ctx, profile, g))
	}
	return err
}

// suite runs one call of Ginkgo on the cluster that is up.
func (r *run) suite(ctx context.Context, profile string, g ginkgoRun) error {
	job := r.job(profile, g)
	return r.timed(job.what(), func() (count, error) { return r.specs(ctx, job, os.Stdout) })
}

// background is something that has been begun.
type background struct {
	what   string
	took   time.Duration
	output bytes.Buffer
	count  count
	err    error
	done   chan struct{}
}

// beginSuite runs one call of Ginkgo beside what follows.
func (r *run) beginSuite(ctx context.Context, profile string, g ginkgoRun) *background {
	job := r.job(profile, g)
	return begin(job.what(), func(out io.Writer) (count, error) { return r.specs(ctx, job, out) })
}

// job is one call of Ginkgo with all that r says about it now: r may be elsewhere when it
// runs.
type job struct {
	ginkgoRun
	profile, kubeconfig string
	// report is the file with the report of the call. Each call has a folder: a suite whose
	// specs belong to several calls reports in each of them.
	report  string
	noSkips bool
}

func (r *run) job(profile string, g ginkgoRun) job {
	report := filepath.Join(r.output, "e2e", profile, g.name, g.name+".junit.xml")
	r.reports = append(r.reports, report)
	return job{ginkgoRun: g, profile: profile, kubeconfig: r.kubeconfig(), report: report, noSkips: r.noSkips}
}

func (j job) what() string { return "end-to-end, " + j.profile + ": " + j.name }

// begin does something beside what follows, which writes nothing in a run. What it prints
// is kept for await.
func begin(what string, do func(out io.Writer) (count, error)) *background {
	b := &background{what: what + " (beside the next)", done: make(chan struct{})}
	fmt.Printf("=== %s\n", b.what)
	go func() {
		defer close(b.done)
		begun := time.Now()
		b.count, b.err = do(&b.output)
		b.took = time.Since(begun)
	}()
	return b
}

// await waits for what begin began.
func (r *run) await(b *background) error {
	<-b.done
	_, _ = io.Copy(os.Stdout, &b.output)
	return r.record(b.what, b.took, b.count, b.err)
}

// specs runs one call of Ginkgo and counts what came of it. It writes nothing in
// r, so that it can run beside the rest.
func (r *run) specs(ctx context.Context, j job, out io.Writer) (count, error) {
	artifacts := filepath.Dir(j.report)
	if err := os.RemoveAll(artifacts); err != nil {
		return count{}, err
	}
	if err := os.MkdirAll(artifacts, 0o755); err != nil {
		return count{}, err
	}
	env, err := r.nodeEnv(ctx)
	if err != nil {
		return count{}, err
	}
	env = slices.Concat(env, []string{"E2E_KUBECONFIG=" + j.kubeconfig, "E2E_PROFILE=" + j.profile, "E2E_ARTIFACTS=" + artifacts})
	ran := r.ginkgo(ctx, j.ginkgoRun, artifacts, env, out)
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
