// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// output runs the command with arguments, and returns what it prints.
func output(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := newCommand()
	cmd.SetOut(&out)
	cmd.SetErr(&bytes.Buffer{})
	cmd.SetArgs(args)
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestHelpHasAnExampleAndTheExitCodes(t *testing.T) {
	got := output(t, "--help")
	for _, want := range []string{
		"--kubeconfig=admin.conf", "--timeout duration", "Exit code: 0 if", "2 if a rule is notHeld, or an attack\nsucceeded",
		"1 for an error or Ctrl-C", "do not change the exit code", "bulkhead-conformance completion bash",
		"noderestriction, nodescope",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
	for line := range strings.Lines(got) {
		if columns := utf8.RuneCountInString(strings.TrimRight(line, "\n")); columns > 100 {
			t.Errorf("a line of %d columns: %q", columns, line)
		}
	}
}

func TestFlagsAreCompleted(t *testing.T) {
	if got := output(t, cobra.ShellCompNoDescRequestCmd, "--node"); !strings.HasPrefix(got, "--node-exec\n") {
		t.Errorf("--node completes to %q", got)
	}
	if got := output(t, cobra.ShellCompNoDescRequestCmd, "--suites", "at"); !strings.HasPrefix(got, "attacks\n:") {
		t.Errorf("--suites at completes to %q", got)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if got := output(t, "completion", shell); !strings.Contains(got, "bulkhead-conformance") {
			t.Errorf("%s: %d bytes", shell, len(got))
		}
	}
}
