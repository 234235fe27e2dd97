// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

const (
	userPrompt = "$ " // any user
	rootPrompt = "# " // root on a host
)

func isPrompt(line string) bool {
	return strings.HasPrefix(line, userPrompt) || strings.HasPrefix(line, rootPrompt)
}

// splitConsole splits a block with prompts into commands, each with the output below it. A command
// that ends with a backslash goes on in the next line.
func splitConsole(fenceLine int, content []string, place Place) ([]Command, error) {
	if !isPrompt(content[0]) {
		return nil, fmt.Errorf("line %d is not a command: a block with prompts begins with one", fenceLine+1)
	}
	var commands []Command
	for i := 0; i < len(content); i++ {
		line := fenceLine + 1 + i
		if !isPrompt(content[i]) {
			c := &commands[len(commands)-1]
			if c.Want == nil {
				c.WantLine = line
			}
			c.Want = append(c.Want, content[i])
			continue
		}
		if strings.HasPrefix(content[i], rootPrompt) && place == Admin {
			return nil, fmt.Errorf("line %d has the prompt of root, and the place %s is not a host: use \"%s\"", line, Admin,
				userPrompt)
		}
		text := content[i][len(userPrompt):]
		for strings.HasSuffix(content[i], `\`) && i+1 < len(content) {
			i++
			text += "\n" + content[i]
		}
		if strings.Contains(text, "<<") {
			return nil, fmt.Errorf("line %d has a here-document: write the commands into a block of the language bash", line)
		}
		commands = append(commands, Command{Text: text})
	}
	return commands, nil
}
