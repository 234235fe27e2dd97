// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// widestHelp is the most columns that a line of --help may have.
const widestHelp = 100

// commandsBelow returns a command and all below it. It leaves out cobra's help command.
func commandsBelow(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, sub := range cmd.Commands() {
		if sub.Name() != "help" {
			all = append(all, commandsBelow(sub)...)
		}
	}
	return all
}

func TestEveryCommandHasAnExampleThatExists(t *testing.T) {
	for _, cmd := range commandsBelow(newRootCommand()) {
		if cmd.Example == "" {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		for line := range strings.Lines(cmd.Example) {
			if strings.TrimSpace(line) == "" {
				continue
			}
			if !strings.HasPrefix(line, "  ") {
				t.Errorf("%s: the example %q is not indented by two spaces", cmd.CommandPath(), line)
			}
			for _, args := range commandsIn(line) {
				// Only the command is checked, because an argument can be a placeholder.
				if args[0] != "bulkhead" {
					continue
				}
				if found, _, err := newRootCommand().Find(args[1:]); err != nil || !found.Runnable() && len(args) > 1 {
					t.Errorf("%s: the example %q names no command: %v", cmd.CommandPath(), line, err)
				}
			}
		}
	}
}

// TestHelpFitsInATerminal runs each command with --help, on a machine without bulkhead-conformance, also as a
// plugin of kubectl.
func TestHelpFitsInATerminal(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, program := range []string{"bulkhead", "kubectl-bulkhead"} {
		setProgram(t, program)
		for _, cmd := range commandsBelow(newRootCommand()) {
			out := helpOf(t, cmd)
			if !strings.Contains(out, "--help") || !strings.Contains(out, "\nExamples:\n") {
				t.Errorf("%s: help %q", cmd.CommandPath(), out)
			}
			for line := range strings.Lines(out) {
				if columns := utf8.RuneCountInString(strings.TrimRight(line, "\n")); columns > widestHelp {
					t.Errorf("%s --help has a line of %d columns: %q", cmd.CommandPath(), columns, line)
				}
			}
		}
	}
}

// helpOf runs a command with --help.
func helpOf(t *testing.T, cmd *cobra.Command) string {
	t.Helper()
	var out bytes.Buffer
	cmd.SetOut(&out)
	path := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().CommandPath())
	cmd.Root().SetArgs(append(strings.Fields(path), "--help"))
	if err := cmd.Execute(); err != nil {
		t.Errorf("%s --help: %v", cmd.CommandPath(), err)
	}
	return out.String()
}

// setProgram sets the name by which the user calls the program.
func setProgram(t *testing.T, name string) {
	t.Helper()
	before := os.Args[0]
	t.Cleanup(func() { os.Args[0] = before })
	os.Args[0] = name
}

// TestExamplesOfThePlugin: kubectl runs kubectl-bulkhead, and the user has typed kubectl bulkhead. The scripts
// of command completion are for the name bulkhead.
func TestExamplesOfThePlugin(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	setProgram(t, "/usr/local/bin/kubectl-bulkhead")
	for _, cmd := range commandsBelow(newRootCommand()) {
		if strings.HasPrefix(cmd.CommandPath(), "kubectl bulkhead completion") {
			continue
		}
		for line := range strings.Lines(cmd.Example) {
			line, _, _ = strings.Cut(line, "source <(bulkhead completion bash)")
			if other := strings.ReplaceAll(line, "kubectl bulkhead ", ""); strings.Contains(other, "bulkhead ") {
				t.Errorf("%s: the example %q has another name of the program", cmd.CommandPath(), line)
			}
		}
	}
	cmd, _, err := newRootCommand().Find([]string{"doctor"})
	if err != nil || !strings.Contains(helpOf(t, cmd), "\n  kubectl bulkhead doctor --kubeconfig=admin.conf\n") {
		t.Errorf("doctor: error %v, examples %q", err, cmd.Example)
	}
}

// TestExitCodesAreDocumented: a command with other exit codes than 0 and 1 says so.
func TestExitCodesAreDocumented(t *testing.T) {
	documented := regexp.MustCompile(`(?s)Exit code.*\b0\b.*\b2\b`)
	other := map[string]bool{
		"bulkhead conformance": true, "bulkhead doctor": true, "bulkhead status": true, "bulkhead why": true,
	}
	for _, cmd := range commandsBelow(newRootCommand()) {
		if other[cmd.CommandPath()] && !documented.MatchString(cmd.Long) {
			t.Errorf("the help of %s does not say what exit code 2 means", cmd.CommandPath())
		}
		delete(other, cmd.CommandPath())
	}
	if len(other) > 0 {
		t.Errorf("these commands do not exist: %v", other)
	}
}

// TestHelpExplainsExitCodes: these sentences are about exit codes that a user may not expect.
func TestHelpExplainsExitCodes(t *testing.T) {
	for name, want := range map[string]string{
		"status":      "without --cluster: 0 if the command could read this host",
		"audit":       "1 for an error",
		"conformance": "1 for an error or Ctrl-C",
	} {
		if cmd, _, err := newRootCommand().Find([]string{name}); err != nil || !strings.Contains(cmd.Long, want) {
			t.Errorf("the help of %s: error %v, want %q", name, err, want)
		}
	}
}
