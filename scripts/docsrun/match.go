// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Parts of a line that differ in each run. A page may show any value of them.
var (
	timestamp = regexp.MustCompile(`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?`)
	duration  = regexp.MustCompile(`\b(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+\b`)
	hash      = regexp.MustCompile(`\b(sha256:[0-9a-f]{6,}|[0-9a-f]{12,})\b`)
	// took is the duration of a step. The installer prints it only for steps that take some seconds.
	took   = regexp.MustCompile(` \(` + duration.String() + `\)$`)
	spaces = regexp.MustCompile(`[ \t]+`)
	// waiting is a progress line of the installer. It appears only on a slow machine.
	waiting = regexp.MustCompile(`^ *waiting +for `)
)

// normalize replaces the parts of a line that differ in each run. The width of a column depends on
// the longest value, so spaces count as one.
func normalize(line string) string {
	line = took.ReplaceAllString(strings.TrimRight(line, " \t\r"), "")
	line = timestamp.ReplaceAllString(line, "<time>")
	line = duration.ReplaceAllString(line, "<duration>")
	line = hash.ReplaceAllString(line, "<hash>")
	return spaces.ReplaceAllString(line, " ")
}

func normalizeAll(lines []string) []string {
	var out []string
	for _, line := range lines {
		if line = normalize(line); strings.TrimSpace(line) != "" && !waiting.MatchString(line) {
			out = append(out, line)
		}
	}
	return out
}

// ellipsis matches any text. A line with nothing else matches any number of lines.
const ellipsis = "…"

// matchLine reports whether line fits want.
func matchLine(want, line string) bool {
	parts := strings.Split(want, ellipsis)
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return want == line
	}
	if len(line) < len(first)+len(last) || !strings.HasPrefix(line, first) || !strings.HasSuffix(line, last) {
		return false
	}
	line = line[len(first) : len(line)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(line, part)
		if !found {
			return false
		}
		line = after
	}
	return true
}

// compare returns an error if the output of a command is not what the page shows. A command without
// expected output may print anything.
func compare(c Command, output string) error {
	if len(c.Want) == 0 {
		return nil
	}
	want := normalizeAll(c.Want)
	for i := range want {
		want[i] = strings.ReplaceAll(want[i], "...", ellipsis)
	}
	got := normalizeAll(strings.Split(output, "\n"))
	matched := matchLines(want, got)
	switch {
	case matched == len(want)+1:
		return nil
	case matched == len(want):
		return fmt.Errorf("line %d: the output has more lines than the page; end the block with %s if that is right",
			c.WantLine, ellipsis)
	}
	return fmt.Errorf("line %d: the output has no such line, or not in this place: %s", c.lineOf(want[matched]),
		want[matched])
}

// matchLines returns how many lines of want fit, and one more if all lines of got fit too. It
// compares each pair of lines once, so a page with many ellipses is not slow.
func matchLines(want, got []string) int {
	// reached[j] is true if the lines of want so far can fit the first j lines of got.
	reached := make([]bool, len(got)+1)
	reached[0] = true
	for i, line := range want {
		next := make([]bool, len(got)+1)
		for j := range next {
			if strings.TrimSpace(line) == ellipsis {
				next[j] = reached[j] || j > 0 && next[j-1]
			} else {
				next[j] = j > 0 && reached[j-1] && matchLine(line, got[j-1])
			}
		}
		if !slices.Contains(next, true) {
			return i
		}
		reached = next
	}
	if reached[len(got)] {
		return len(want) + 1
	}
	return len(want)
}

// lineOf returns the line of the page with the first expected line that looks like this one.
func (c Command) lineOf(normalized string) int {
	for i, line := range c.Want {
		if strings.ReplaceAll(normalize(line), "...", ellipsis) == normalized {
			return c.WantLine + i
		}
	}
	return c.WantLine
}
