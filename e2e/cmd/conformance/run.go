// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/isolationreport"
)

// cleanup bounds what the specs may take to remove their objects after Ctrl-C.
const cleanup = 2 * time.Minute

func run(ctx context.Context, out io.Writer, o options) error {
	dir, err := os.MkdirTemp("", "bulkhead-conformance-")
	if err != nil {
		return fmt.Errorf("cannot create a directory for the suites: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // nothing needs it any more
	kubeconfig, err := prepare(ctx, o, dir)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find this program: %w", err)
	}
	suites, err := unpack(program, dir)
	if err != nil {
		return err
	}
	if suites, err = selected(suites, o.Suites); err != nil {
		return err
	}
	if o.Output, err = filepath.Abs(o.Output); err != nil {
		return fmt.Errorf("cannot use %s: %w", o.Output, err)
	}
	if err := os.MkdirAll(o.Output, 0o755); err != nil {
		return fmt.Errorf("cannot create the output directory: %w", err)
	}
	fmt.Fprintf(out, "Running the suites %s. This takes 5 to 20 minutes. Ctrl-C ends the run and removes its objects.\n",
		strings.Join(suites, ", "))
	if err := runSuites(ctx, out, o, dir, kubeconfig, suites); err != nil {
		return err
	}
	return writeReport(ctx, out, o, kubeconfig)
}

// selected returns the suites that the user named, or all of them.
func selected(all, named []string) ([]string, error) {
	if len(named) == 0 {
		return all, nil
	}
	for _, name := range named {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("there is no suite %q: use %s", name, strings.Join(all, ", "))
		}
	}
	return named, nil
}

// runSuites runs Ginkgo. Specs that fail are not an error: the report has them.
func runSuites(ctx context.Context, out io.Writer, o options, dir, kubeconfig string, suites []string) error {
	if err := removeResults(o.Output); err != nil {
		return fmt.Errorf("cannot remove the results of the last run: %w", err)
	}
	dir = filepath.Join(dir, suitesDir)
	cmd := exec.CommandContext(ctx, filepath.Join(dir, runner), ginkgoArgs(o, suites)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Stdout = out
	cmd.Env = append(os.Environ(), "E2E_KUBECONFIG="+kubeconfig, "E2E_PROFILE=any", "E2E_NODE_EXEC="+o.NodeExec,
		"E2E_ARTIFACTS="+o.Output)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = cleanup
	// Ginkgo gets one signal, from Cancel. A terminal would send it another one, which stops the
	// clean-up.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted: there is no report")
	case err != nil && !errors.As(err, &exit):
		return fmt.Errorf("cannot run the suites: %w", err)
	}
	for _, suite := range suites {
		if _, err := os.Stat(filepath.Join(o.Output, suite+isolationreport.ResultsSuffix)); err != nil {
			return fmt.Errorf("the suite %s ended without results: read its output above, and run it alone with --suites=%s",
				suite, suite)
		}
	}
	if exit != nil {
		return explained(exit, o.Output)
	}
	return nil
}

// ginkgoArgs returns the arguments of Ginkgo. It gives a suite what follows "--". Without the filter, a
// suite also runs its tests that need the repository, not a cluster.
func ginkgoArgs(o options, suites []string) []string {
	args := []string{
		"run", "--no-color", "--keep-going", "--silence-skips", "--succinct", "--poll-progress-after=2m",
		fmt.Sprintf("--timeout=%v", o.Timeout), fmt.Sprintf("--procs=%d", o.Procs),
	}
	for _, suite := range suites {
		args = append(args, "./"+suite+suiteSuffix)
	}
	return append(args, "--", "-test.run=^TestSpecs$")
}

// specsFailed is Ginkgo's exit code for a suite that failed, because of a spec or for another reason.
const specsFailed = 1

// explained returns nil if a spec in the results failed or met a time limit, which explains Ginkgo's
// exit code. Other reasons are objects that a suite could not remove, --timeout between two specs, and a
// suite that was built to run only some of its specs.
func explained(exit *exec.ExitError, dir string) error {
	if exit.ExitCode() != specsFailed {
		return fmt.Errorf("ginkgo failed: %w; no report is written: read the output above", exit)
	}
	all, err := isolationreport.Read(dir)
	if err != nil {
		return fmt.Errorf("cannot read the results of the suites: %w", err)
	}
	if slices.ContainsFunc(all, anyFailed) {
		return nil
	}
	return fmt.Errorf("a suite failed, but none of its specs did: %w; no report is written: read the output above", exit)
}

func anyFailed(results isolationreport.Results) bool {
	return slices.ContainsFunc(results.Specs, func(spec isolationreport.Spec) bool {
		return spec.State == isolationreport.Failed || spec.State == isolationreport.TimedOut
	})
}

// removeResults removes the results of another run, so that they are not taken for results of this
// one.
func removeResults(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*"+isolationreport.ResultsSuffix))
	for _, file := range files {
		err = errors.Join(err, os.Remove(file))
	}
	return err
}
