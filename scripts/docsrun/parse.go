// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// parser reads a page line by line. It knows only what it needs of Markdown: fenced blocks and
// comments.
type parser struct {
	lines  []string
	next   int // index of the next line
	blocks []Block
	errs   []error
	// mark is the mark that waits for its block. markLine is 0 if there is none.
	mark     Mark
	markLine int
	// above is the script whose output may come next, or -1.
	above int
}

// Parse returns the command blocks of a Markdown page. The error has every problem, with its line.
func Parse(page string) ([]Block, error) {
	// A BOM and the line ends of Windows change nothing.
	page = strings.TrimPrefix(strings.ReplaceAll(page, "\r\n", "\n"), "\ufeff")
	p := &parser{lines: strings.Split(page, "\n"), above: -1}
	for p.next < len(p.lines) {
		p.line()
	}
	p.dropMark()
	return p.blocks, errors.Join(p.errs...)
}

func (p *parser) fail(line int, format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf("line %d: %w", line, fmt.Errorf(format, args...)))
}

func (p *parser) line() {
	line := strings.TrimSpace(p.lines[p.next])
	switch f, isFence := parseFence(p.lines[p.next]); {
	case line == "":
		p.next++
	case isFence:
		p.fence(f)
	case strings.HasPrefix(line, "<!--"):
		p.comment()
	default:
		p.dropMark()
		p.above = -1
		p.next++
		p.text(line)
	}
}

// hiddenFence matches a fence behind a list marker or a quote.
var hiddenFence = regexp.MustCompile("^(>|[-*+]|[0-9]+[.)])[ >]*(```|~~~)")

// text rejects what a reader could take for a command block, and this parser does not.
func (p *parser) text(line string) {
	switch {
	case strings.Contains(strings.ReplaceAll(line, " ", ""), "<!--"+markPrefix):
		p.fail(p.next, "a mark must be alone on its line")
	case hiddenFence.MatchString(line):
		p.fail(p.next, "a block must begin on a line of its own")
	case strings.HasPrefix(line, userPrompt):
		p.fail(p.next, "a command must be in a block")
	}
}

// dropMark reports a mark without a block.
func (p *parser) dropMark() {
	if p.markLine > 0 {
		p.fail(p.markLine, "this mark is not directly above a command block")
	}
	p.markLine = 0
}

// comment reads a comment up to its end. What it contains is not part of the page.
func (p *parser) comment() {
	first := p.next + 1
	var text strings.Builder
	for p.next < len(p.lines) {
		before, after, ends := strings.Cut(p.lines[p.next], "-->")
		p.next++
		text.WriteString(" " + strings.TrimSpace(before))
		if !ends {
			continue
		}
		inside := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text.String()), "<!--"))
		if !strings.HasPrefix(inside, markPrefix) {
			return
		}
		p.dropMark()
		mark, err := parseMark(inside)
		if err != nil {
			p.fail(first, "%w", err)
		}
		if strings.TrimSpace(after) != "" {
			p.fail(first, "a mark must be alone on its line")
		}
		p.mark, p.markLine = mark, first
		return
	}
	p.fail(first, "the comment has no end")
}

// fence is the line that opens a block.
type fence struct {
	indent   int
	marker   string
	language string
}

var fencePattern = regexp.MustCompile("^([ \t]*)(`{3,}|~{3,})([^`]*)$")

func parseFence(line string) (fence, bool) {
	m := fencePattern.FindStringSubmatch(line)
	if m == nil {
		return fence{}, false
	}
	f := fence{indent: len(m[1]), marker: m[2]}
	if words := strings.Fields(m[3]); len(words) > 0 {
		f.language = strings.ToLower(words[0])
	}
	return f, true
}

// closedBy reports whether the line is the closing fence. A shorter fence, or one with a language,
// is part of the block.
func (f fence) closedBy(line string) bool {
	line = strings.TrimSpace(line)
	return len(line) >= len(f.marker) && strings.Trim(line, f.marker[:1]) == ""
}

func (p *parser) fence(f fence) {
	opening := p.next + 1
	p.next++
	first := p.next
	for p.next < len(p.lines) && !f.closedBy(p.lines[p.next]) {
		p.next++
	}
	if p.next == len(p.lines) {
		p.fail(opening, "the block has no end")
		p.markLine, p.above = 0, -1
		return
	}
	var content []string
	for _, line := range p.lines[first:p.next] {
		content = append(content, dedent(line, f.indent))
	}
	p.next++
	p.block(opening, f.language, content)
}

func dedent(line string, spaces int) string {
	have := len(line) - len(strings.TrimLeft(line, " \t"))
	return line[min(have, spaces):]
}
