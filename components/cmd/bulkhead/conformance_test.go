// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestFindConformance(t *testing.T) {
	beside, inPath := t.TempDir(), t.TempDir()
	t.Setenv("PATH", inPath)
	_, err := findConformance(beside)
	for _, want := range []string{"make conformance", "bulkhead-conformance-linux-" + runtime.GOARCH} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without the program: %v, want %q", err, want)
		}
	}
	for _, dir := range []string{inPath, beside} { // a program beside this one comes first
		want := filepath.Join(dir, conformanceProgram)
		if err := os.WriteFile(want, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if got, err := findConformance(beside); err != nil || got != want {
			t.Errorf("found %q, %v, want %q", got, err, want)
		}
	}
}

// TestConformanceWithoutTheProgram runs the command where bulkhead-conformance is not installed.
func TestConformanceWithoutTheProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, tc := range []struct {
		args []string
		help bool
	}{
		{[]string{"--help"}, true},
		{[]string{"-h"}, true},
		{[]string{"--kubeconfig=a", "--help"}, true},
		{[]string{"--kubeconfig=a"}, false},
		{[]string{"--", "--help"}, false},
		{nil, false},
	} {
		var out bytes.Buffer
		root := newRootCommand()
		root.SetOut(&out)
		root.SetArgs(append([]string{"conformance"}, tc.args...))
		err := root.Execute()
		if tc.help != (err == nil) || tc.help != strings.Contains(out.String(), "--node-exec") {
			t.Errorf("%q: %v\n%s", tc.args, err, out.String())
		}
	}
}

// childArgs is the variable with the arguments for a child that runs bulkhead. The child is this test binary.
const childArgs = "BULKHEAD_TEST_CHILD_ARGS"

// TestConformanceRunsTheProgram: the other program gets the arguments, also --help.
func TestConformanceRunsTheProgram(t *testing.T) {
	bin := t.TempDir()
	script := []byte("#!/bin/sh\necho \"$@\"; exit 2\n")
	if err := os.WriteFile(filepath.Join(bin, conformanceProgram), script, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"--help", "--suites=attacks --procs=2"} {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChildWithArguments$")
		child.Env = append(os.Environ(), childArgs+"=conformance "+args, "PATH="+bin+":"+os.Getenv("PATH"))
		out, err := child.Output()
		if child.ProcessState.ExitCode() != 2 || string(out) != args+"\n" {
			t.Errorf("%s: %q, %v", args, out, err)
		}
	}
}

func TestChildWithArguments(t *testing.T) {
	args, isChild := os.LookupEnv(childArgs)
	if !isChild {
		t.Skip("TestConformanceRunsTheProgram starts this test in a child process")
	}
	root := newRootCommand()
	root.SetArgs(strings.Fields(args))
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
}
