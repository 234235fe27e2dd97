// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/bulkhead-k8s/bulkhead/components/apis/installation"
)

// examples is the directory of the examples for other tools.
const examples = "../../../manifests/examples"

// readExample decodes a YAML file. An unknown or duplicate field is an error.
func readExample(t *testing.T, name string, into any) {
	t.Helper()
	file, err := os.Open(filepath.Join(examples, name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	decoder := yaml.NewDecoder(file)
	decoder.KnownFields(true)
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// checkProgram parses the arguments of this program as the program does. It does not run it.
func checkProgram(args []string) error {
	cmd, rest, err := newRootCommand().Find(args)
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	if !cmd.Runnable() {
		return fmt.Errorf("%q needs a command: %q", cmd.CommandPath(), cmd.Flags().Args())
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// betweenCommands are the words of a shell script that come between two commands.
var betweenCommands = map[string]bool{
	"&&": true, "||": true, ";": true, "|": true, "!": true, "if": true, "then": true, "else": true, "fi": true,
	"until": true, "while": true, "do": true, "done": true, "bulkhead-retry": true,
	"timeout": true, "10m": true,
}

// commandsIn returns the commands of a shell script, without files that their output is written to. It
// knows only the shell that the examples use.
func commandsIn(script string) (found [][]string) {
	var current []string
	end := func() {
		if len(current) > 0 {
			found = append(found, current)
		}
		current = nil
	}
	for line := range strings.Lines(strings.ReplaceAll(script, "\\\n", " ")) {
		line, _, _ = strings.Cut(line, "#")
		for _, word := range strings.Fields(strings.ReplaceAll(line, ";", " ; ")) {
			if betweenCommands[path.Base(word)] {
				end()
				continue
			}
			if strings.HasPrefix(word, ">") {
				continue
			}
			current = append(current, word)
		}
		end()
	}
	return found
}

// programsIn returns the arguments of each run of this program in a shell script.
func programsIn(script string) (found [][]string) {
	for _, words := range commandsIn(script) {
		if path.Base(words[0]) == "bulkhead" {
			found = append(found, words[1:])
		}
	}
	return found
}

// checkPrograms checks each run of this program in a script and returns them, one a line.
func checkPrograms(t *testing.T, script string) (runs []string) {
	t.Helper()
	for _, args := range programsIn(script) {
		if err := checkProgram(args); err != nil {
			t.Errorf("bulkhead %s: %v", strings.Join(args, " "), err)
		}
		runs = append(runs, strings.Join(args, " "))
	}
	return runs
}

// checkInstallation reads a file of kind Installation as the program does.
func checkInstallation(t *testing.T, file string) *installation.Installation {
	t.Helper()
	parsed, err := installation.Parse([]byte(file))
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	return parsed
}

func TestExampleChecksSeeMistakes(t *testing.T) {
	for _, tc := range []struct {
		name, script string
		runs         int
		ok           bool
	}{
		{"a command of the program", "bulkhead install --config=a.yaml", 1, true},
		{"an unknown flag", "bulkhead install --confg=a.yaml", 1, false},
		{"an unknown command", "bulkhead instal", 1, false},
		{"an unknown subcommand", "bulkhead node instal", 1, false},
		{"a group without a command", "bulkhead node", 1, false},
		{"a value that the flag does not take", "bulkhead node install --loopback-clients=maybe", 1, false},
		{"an argument too many", "bulkhead prepare now", 1, false},
		{"a second command in the line", "kubeadm join && /usr/local/bin/bulkhead nod; true", 1, false},
		{"after the retry", "bulkhead-retry bulkhead install", 1, true},
		{"output to a file", "bulkhead node unit >a.service", 1, true},
		{"the body of a loop", "until bulkhead status; do bulkhead renew; done", 2, false},
		{"a comment", "true # bulkhead nothing", 0, true},
		{"another program", "kubeadm bulkhead nothing", 0, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			found, ok := programsIn(tc.script), true
			for _, args := range found {
				ok = ok && checkProgram(args) == nil
			}
			if len(found) != tc.runs || ok != tc.ok {
				t.Errorf("runs %q, valid %v; want %d runs, valid %v", found, ok, tc.runs, tc.ok)
			}
		})
	}
}
