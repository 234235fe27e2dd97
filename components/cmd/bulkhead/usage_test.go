// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// widestHelp is the most columns that a line of --help may have.
const widestHelp = 120

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

// TestHelpFitsInATerminal runs each command with --help, on a machine without bulkhead-conformance.
func TestHelpFitsInATerminal(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, cmd := range commandsBelow(newRootCommand()) {
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.Root().SetArgs(append(strings.Fields(cmd.CommandPath())[1:], "--help"))
		if err := cmd.Execute(); err != nil || !strings.Contains(out.String(), "--help") ||
			!strings.Contains(out.String(), "\nExamples:\n") {
			t.Errorf("%s: error %v, help %q", cmd.CommandPath(), err, out.String())
		}
		for line := range strings.Lines(out.String()) {
			if columns := utf8.RuneCountInString(strings.TrimRight(line, "\n")); columns > widestHelp {
				t.Errorf("%s --help has a line of %d columns: %q", cmd.CommandPath(), columns, line)
			}
		}
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
