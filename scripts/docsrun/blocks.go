// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Block is a command block of a page, with its mark.
type Block struct {
	// Line is the line of the fence that opens the block.
	Line     int
	Mark     Mark
	Commands []Command
}

// Command is a command, or a whole script, and its expected output.
type Command struct {
	Text string
	// Want is the expected output. If it is empty, any output is right.
	Want []string
	// WantLine is the line of the page with the first line of Want.
	WantLine int
}

// scripts are the languages of blocks that contain only commands. A block of the language console
// has prompts, and the output below them.
var scripts = []string{"bash", "sh", "shell"}

const console = "console"

// outputs are the languages of a block that shows the output of the script above it.
var outputs = []string{"text", console}

// block adds a block with commands, or the output of the block above.
func (p *parser) block(line int, language string, content []string) {
	above := p.above
	p.above = -1
	isScript := slices.Contains(scripts, language)
	prompts := language == console && slices.ContainsFunc(content, isPrompt)
	switch {
	case language == "":
		p.fail(line, "the block has no language: use bash or console for commands, and text for output")
	case isScript || prompts:
		p.commands(line, isScript, content)
		return
	case slices.Contains(outputs, language) && above >= 0 && p.markLine == 0:
		p.blocks[above].Commands[0].Want, p.blocks[above].Commands[0].WantLine = content, line+1
	case language == console:
		p.fail(line, "no line of this block is a command: a command begins with \"$ \" or \"# \"")
	}
	p.dropMark()
}

func (p *parser) commands(line int, isScript bool, content []string) {
	if p.markLine == 0 {
		p.fail(line, "this command block has no mark: write <!-- run: … --> above it, with one of %q", places)
		return
	}
	b := Block{Line: line, Mark: p.mark}
	p.markLine = 0
	var err error
	if isScript {
		b.Commands = []Command{{Text: strings.Join(content, "\n")}}
		if strings.TrimSpace(b.Commands[0].Text) == "" {
			err = errors.New("the block has no command")
		}
	} else {
		b.Commands, err = splitConsole(line, content, b.Mark.Place)
	}
	if err != nil {
		p.fail(line, "%w", err)
		return
	}
	p.blocks = append(p.blocks, b)
	if isScript {
		p.above = len(p.blocks) - 1
	}
}

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
