// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// width is the number of columns that every line fits in.
const width = 80

// The pauses at pace 1.
const (
	keystroke = 8 * time.Millisecond
	beat      = 500 * time.Millisecond
	// reading is the time to read one character of a text.
	reading = 14 * time.Millisecond
)

type color string

const (
	plain  color = ""
	bold   color = "1"
	faint  color = "2"
	red    color = "1;31"
	green  color = "1;32"
	yellow color = "1;33"
	cyan   color = "1;36"
)

// screen prints for a person who reads along. After an interrupt it prints without pauses.
type screen struct {
	ctx    context.Context
	out    io.Writer
	pace   float64
	colors bool
	// paused is called with the duration of each pause, for the recording.
	paused func(time.Duration)
}

func (s *screen) pause(d time.Duration) {
	d = time.Duration(float64(d) * s.pace)
	if d <= 0 || s.ctx.Err() != nil {
		return
	}
	if s.paused != nil {
		s.paused(d)
	}
	select {
	case <-s.ctx.Done():
	case <-time.After(d):
	}
}

func (s *screen) paint(c color, text string) string {
	if !s.colors || c == plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

func (s *screen) print(text string) { _, _ = io.WriteString(s.out, text) }

// line prints one line, or more if it is too long.
func (s *screen) line(c color, text string) {
	for _, line := range wrap(text, width) {
		s.print(s.paint(c, line) + "\n")
	}
}

// say prints a paragraph and waits until it is read.
func (s *screen) say(text string) {
	s.line(plain, text)
	s.read(text)
}

func (s *screen) read(text string) {
	s.pause(beat + time.Duration(utf8.RuneCountInString(text))*reading)
}

// heading prints a title with a rule up to the last column.
func (s *screen) heading(c color, mark, title string) {
	text := mark + mark + " " + title + " "
	rest := max(0, width-utf8.RuneCountInString(text))
	s.print("\n" + s.paint(c, text+strings.Repeat(mark, rest)) + "\n")
}

// command prints the lines of a command behind its prompt, with the pauses of a person who types.
func (s *screen) command(c command, typed bool) {
	who := green
	if c.node == worker {
		who = red
	}
	for i, line := range shown(c) {
		if i == 0 || !strings.HasPrefix(line, " ") {
			s.print(s.paint(who, c.prompt()))
			line = strings.TrimPrefix(line, c.prompt())
		}
		if typed {
			s.typeOut(line)
		} else {
			s.print(s.paint(bold, line))
		}
		s.print("\n")
	}
}

// shown are the lines of a command as they are on the screen. A line that continues another one is
// indented, and has no prompt.
func shown(c command) []string {
	lines := strings.Split(c.lines, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, " ") {
			lines[i] = c.prompt() + line
		}
	}
	return lines
}

func (s *screen) typeOut(line string) {
	const chunk = 3
	for runes := []rune(line); len(runes) > 0; {
		n := min(chunk, len(runes))
		s.print(s.paint(bold, string(runes[:n])))
		s.pause(time.Duration(n) * keystroke)
		runes = runes[n:]
	}
}

// answer prints the output of a command. It comes from a cluster that may be hostile, so bytes that
// could change the terminal are left out. IDs of rules are in color.
func (s *screen) answer(output string) {
	for line := range strings.Lines(printable(output)) {
		for _, part := range wrap(strings.TrimRight(line, " \n"), width) {
			s.print(cited.ReplaceAllStringFunc(part, func(id string) string { return s.paint(green, id) }) + "\n")
		}
	}
}

// printable leaves out all bytes that a terminal does not print, except line breaks.
func printable(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\t", " ")
	text = strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsPrint(r) {
			return r
		}
		return -1
	}, text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

// wrap breaks a line between words, and a word that is longer than a line.
func wrap(line string, columns int) []string {
	var lines []string
	for utf8.RuneCountInString(line) > columns {
		runes := []rune(line)
		end := columns
		for end > 0 && runes[end] != ' ' {
			end--
		}
		if strings.TrimSpace(string(runes[:end])) == "" {
			end = columns
		}
		lines = append(lines, strings.TrimRight(string(runes[:end]), " "))
		line = strings.TrimLeft(string(runes[end:]), " ")
	}
	return append(lines, line)
}

func numbered(i, of int, title string) string { return fmt.Sprintf("%d of %d: %s", i+1, of, title) }
