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
	"testing"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/isolationreport"
)

// fakeRunner writes a Ginkgo program that writes the results of the suites, and then runs the command.
// A suite without a state has no results. It returns the directory for [runSuites].
func fakeRunner(t *testing.T, states map[string]isolationreport.State, command string) string {
	t.Helper()
	dir := t.TempDir()
	results, suites := filepath.Join(dir, "results"), filepath.Join(dir, suitesDir)
	for suite, state := range states {
		one := isolationreport.NewResults(suite, "any", time.Now(), time.Minute)
		one.Specs = []isolationreport.Spec{{Text: "one", State: isolationreport.Passed}, {Text: "two", State: state}}
		if err := one.Write(filepath.Join(results, suite+isolationreport.ResultsSuffix)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(suites, 0o700); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\necho \"$@\"\ncp %s/* \"$E2E_ARTIFACTS\"\n%s\n", results, command)
	if err := os.WriteFile(filepath.Join(suites, runner), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestEndOfSuites(t *testing.T) {
	const passed, failed = isolationreport.Passed, isolationreport.Failed
	const timedOut, skipped = isolationreport.TimedOut, isolationreport.Skipped
	const spoil = "echo >$E2E_ARTIFACTS/a" + isolationreport.ResultsSuffix + "; "
	for name, tt := range map[string]struct {
		a, b    isolationreport.State
		command string
		want    string
	}{
		"all passed: no error":                 {passed, skipped, "exit 0", ""},
		"a spec failed: no error":              {passed, failed, "exit 1", ""},
		"a spec met a time limit: no error":    {timedOut, passed, "exit 1", ""},
		"objects not removed: error":           {passed, skipped, "exit 1", "none of its specs did: exit status 1"},
		"only some specs built: error":         {passed, passed, "exit 197", "ginkgo failed: exit status 197"},
		"a spec failed, invalid flag: error":   {failed, passed, "exit 2", "ginkgo failed: exit status 2"},
		"a spec failed, Ginkgo killed: error":  {failed, passed, "kill -9 $$", "ginkgo failed: signal: killed"},
		"a suite has no results: error":        {failed, "", "exit 1", "suite b ended without results"},
		"all passed, no results of one: error": {passed, "", "exit 0", "suite b ended without results"},
		"timeout before the last suite: error": {timedOut, "", "exit 1", "--suites=b"},
		"results cannot be read: error":        {passed, passed, spoil + "exit 1", "cannot read"},
		"next step: in the error":              {passed, passed, "exit 1", "no report is written: read the output above"},
	} {
		t.Run(name, func(t *testing.T) {
			states := map[string]isolationreport.State{"a": tt.a}
			if tt.b != "" {
				states["b"] = tt.b
			}
			o := options{Output: t.TempDir(), Procs: 2, Timeout: time.Minute}
			dir := fakeRunner(t, states, tt.command)
			expectError(t, runSuites(t.Context(), io.Discard, o, dir, "kubeconfig", []string{"a", "b"}), tt.want)
		})
	}
}

// TestOnlySpecsRun: a suite gets its arguments after "--". Its other tests need the repository.
func TestOnlySpecsRun(t *testing.T) {
	var out strings.Builder
	o := options{Output: t.TempDir(), Procs: 2, Timeout: time.Minute}
	dir := fakeRunner(t, map[string]isolationreport.State{"a": isolationreport.Passed}, "exit 0")
	expectError(t, runSuites(t.Context(), &out, o, dir, "kubeconfig", []string{"a"}), "")
	if want := " --procs=2 ./a.test -- -test.run=^TestSpecs$\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("arguments %q, want %q at their end", &out, want)
	}
}

func TestInterruptedSuites(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := options{Output: t.TempDir(), Procs: 2, Timeout: time.Minute}
	dir := fakeRunner(t, map[string]isolationreport.State{"a": isolationreport.Failed}, "exit 1")
	expectError(t, runSuites(ctx, io.Discard, o, dir, "kubeconfig", []string{"a"}), "interrupted: there is no report")
}
