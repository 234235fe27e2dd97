// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/rand"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// script is a block as a program for bash. The program prints a separator after each command, and
// at the end the variables that the block has set. The separator is random, so no output contains
// it.
type script struct {
	separator string
	text      string
}

// variable matches an assignment that later blocks may use. Only upper case counts: a reader sees
// that the page means a setting.
var variable = regexp.MustCompile(`(?m)^(?:export )?([A-Z][A-Z0-9_]*)=`)

// newScript returns the script of a block. before sets the variables of the blocks before it. pidFile
// is a file for the process ID, or empty.
func newScript(b Block, before, pidFile string) script {
	s := script{separator: "docsrun-" + rand.Text()}
	var text strings.Builder
	// Bash reads a group of commands completely before it runs it. So no command reads the rest of
	// the script as its input, and a syntax error is found before anything has changed.
	text.WriteString("{\nexec 2>&1\n")
	if pidFile != "" {
		fmt.Fprintf(&text, "echo $$ >%s\n", pidFile)
	}
	text.WriteString(before)
	var names []string
	for _, c := range b.Commands {
		fmt.Fprintf(&text, "%s\nprintf '%%s\\n' %s\n", c.Text, s.separator)
		for _, m := range variable.FindAllStringSubmatch(c.Text, -1) {
			if !slices.Contains(names, m[1]) {
				names = append(names, m[1])
			}
		}
	}
	for _, name := range names {
		fmt.Fprintf(&text, "declare -p %s\n", name)
	}
	text.WriteString("} </dev/null\n")
	s.text = text.String()
	return s
}

// split returns the output of each command, and the variables. If the script has failed, the last
// output is that of the failed command, and there are no variables.
func (s script) split(output string, commands int) (outputs []string, variables string) {
	outputs = strings.Split(output, s.separator+"\n")
	if len(outputs) == commands+1 {
		return outputs[:commands], outputs[commands]
	}
	return outputs, ""
}
