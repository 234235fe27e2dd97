// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package components_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// widestDocsLine is the most columns that a line of a page may have.
const widestDocsLine = 100

// wide are the pages that are still to be rewritten. Take a page out of the list when its
// lines are short: the test fails for a page here that has no long line.
var wide = []string{
	"../docs/development.md", "../docs/differences.md", "../docs/rules.md", "../docs/testing.md",
}

// pages are README.md and those of docs.
func pages(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, name := range append(names, "../README.md", "../e2e/README.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		found[name] = string(text)
	}
	return found
}

// TestDocsLinesAreShort: a page is read in a terminal and in a diff, so no line is longer
// than widestDocsLine. A table whose row does not fit is a list. An address that is longer
// has a line to itself, [name]: address.
func TestDocsLinesAreShort(t *testing.T) {
	for name, text := range pages(t) {
		if !strings.HasPrefix(name, "../docs/") && name != "../README.md" {
			continue
		}
		long := 0
		for i, line := range strings.Split(text, "\n") {
			columns := utf8.RuneCountInString(line)
			if columns <= widestDocsLine || namedLink.MatchString(line) {
				continue
			}
			long++
			if !slices.Contains(wide, name) {
				t.Errorf("%s:%d has %d columns, and may have %d", name, i+1, columns, widestDocsLine)
			}
		}
		if long == 0 && slices.Contains(wide, name) {
			t.Errorf("%s has no long line: take it out of the list of pages that are still to be rewritten", name)
		}
	}
}

var (
	fence      = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	codeSpan   = regexp.MustCompile("`[^`\n]*`")
	inlineLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	namedLink  = regexp.MustCompile(`(?m)^\[[^\]]+\]: *(\S+)$`)
	heading    = regexp.MustCompile(`(?m)^#{1,6} +(.*)$`)
	linkText   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	notAnchor  = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// TestDocsLinksResolve: the file of every relative link is there, and its page has a
// heading for the anchor.
func TestDocsLinksResolve(t *testing.T) {
	all := pages(t)
	for name, text := range all {
		for _, target := range links(text) {
			file, anchor, _ := strings.Cut(target, "#")
			to := name
			if file != "" {
				to = filepath.Join(filepath.Dir(name), file)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s, which is not there", name, target)
				continue
			}
			if page, known := all[to]; anchor != "" && (!known || !slices.Contains(anchors(page), anchor)) {
				t.Errorf("%s links to %s, and %s has no such heading", name, target, to)
			}
		}
	}
}

// links are the targets of a page's relative links, outside of code.
func links(text string) (targets []string) {
	text = codeSpan.ReplaceAllString(fence.ReplaceAllString(text, ""), "")
	found := append(inlineLink.FindAllStringSubmatch(text, -1), namedLink.FindAllStringSubmatch(text, -1)...)
	for _, link := range found {
		if !strings.Contains(link[1], "://") {
			targets = append(targets, link[1])
		}
	}
	return targets
}

// anchors are the names that GitHub gives the headings of a page.
func anchors(text string) (names []string) {
	for _, found := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		title := linkText.ReplaceAllString(strings.TrimSpace(found[1]), "$1")
		title = notAnchor.ReplaceAllString(strings.ToLower(title), "")
		names = append(names, strings.ReplaceAll(title, " ", "-"))
	}
	return names
}

// TestDocsChecksSeeMistakes: what the two checks above look at has the mistakes in it that
// they are there for.
func TestDocsChecksSeeMistakes(t *testing.T) {
	page := "# One `two/three`, [four](x.md)\n[a](y.md#z) `[no](code.md)` [far](https://example.com)\n" +
		"```\n[no](fence.md)\n# no heading\n```\n[b]: v.md\n"
	if got, want := links(page), []string{"x.md", "y.md#z", "v.md"}; !slices.Equal(got, want) {
		t.Errorf("links are %q, want %q", got, want)
	}
	if got, want := anchors(page), []string{"one-twothree-four"}; !slices.Equal(got, want) {
		t.Errorf("anchors are %q, want %q", got, want)
	}
}
