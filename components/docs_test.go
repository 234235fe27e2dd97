// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package components_test

import (
	"errors"
	"io/fs"
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
		for i, line := range strings.Split(text, "\n") {
			columns := utf8.RuneCountInString(line)
			if columns <= widestDocsLine || namedLink.MatchString(line) {
				continue
			}
			t.Errorf("%s:%d has %d columns, and may have %d", name, i+1, columns, widestDocsLine)
		}
	}
}

// TestDocsHaveNoConflict: a merge with conflicts leaves these lines in a page, where nothing else
// notices them.
func TestDocsHaveNoConflict(t *testing.T) {
	for name, text := range pages(t) {
		for i, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(line, "<<<<<<< ") || strings.HasPrefix(line, ">>>>>>> ") {
				t.Errorf("%s:%d is a line of a merge conflict", name, i+1)
			}
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

// plainWords are the words that a page must not use, as a regular expression of whole words,
// and what to write instead.
var plainWords = map[string]string{
	"we|us|our|ours":           "the name of the program",
	"nobody|anybody|everybody": "no user, any user, or who it is",
	"whoever|whomever":         "a user who, an attacker who",
	"worth":                    "what it can do, or its value",
	"told|told of":             "informed, reported, configured",
	"held|held to":             "kept, limited to, compared with",
	"brought":                  "sent, added",
	"for ever":                 "without end, until",
	"let loose|lets loose":     "no longer restricted",
	"becomes of|became of":     "what happens to",
	"is no|are no":             "is not a, is invalid (but: there is no)",
	"lifted|lifts":             "exempted, removed",
	"believed to|hears|heard":  "receives, received",
	"stands in for":            "replaces",
}

var (
	quoted    = regexp.MustCompile(`(?s)"[^"]{1,200}"`)
	existence = regexp.MustCompile(`(?i)\b(there|where) (is|are) no\b`)
)

// TestDocsWordsArePlain: a page uses the words of Kubernetes' own pages. Code, and text in
// quotation marks, are not prose. rules.md checks the descriptions in the code.
func TestDocsWordsArePlain(t *testing.T) {
	for name, text := range pages(t) {
		for _, found := range privateWords(text) {
			t.Errorf("%s %s", name, found)
		}
	}
}

// privateWords says what a text has of plainWords, and in which paragraph.
func privateWords(text string) (found []string) {
	prose := codeSpan.ReplaceAllString(fence.ReplaceAllString(text, ""), "")
	prose = existence.ReplaceAllString(quoted.ReplaceAllString(prose, ""), "")
	for words, instead := range plainWords {
		pattern := regexp.MustCompile(`(?i)[^\n]*\b(?:` + strings.ReplaceAll(words, " ", `\s+`) + `)\b[^\n]*`)
		for _, line := range pattern.FindAllString(prose, -1) {
			found = append(found, "uses one of "+words+"; write "+instead+": "+strings.TrimSpace(line))
		}
	}
	return found
}

var (
	repositoryPath = regexp.MustCompile("`((?:components|kind|scripts|e2e|manifests|docs)/[\\w./-]+)`")
	testName       = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w+)`")
	testFunction   = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Z]\w+)\(`)
)

// TestDocsNameExistingPathsAndTests: paths of this repository, and the tests on testing.md, exist.
func TestDocsNameExistingPathsAndTests(t *testing.T) {
	tests := testNames(t)
	for name, text := range pages(t) {
		for _, found := range repositoryPath.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join("..", found[1])); err != nil {
				t.Errorf("%s names %s, which does not exist", name, found[1])
			}
		}
		if name != "../docs/testing.md" {
			continue
		}
		for _, found := range testName.FindAllStringSubmatch(text, -1) {
			if !tests[found[1]] {
				t.Errorf("%s names the test %s, which does not exist", name, found[1])
			}
		}
	}
}

// testNames are the names of all unit tests.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	collect := func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		for _, found := range testFunction.FindAllStringSubmatch(string(text), -1) {
			names[found[1]] = true
		}
		return err
	}
	if err := errors.Join(filepath.WalkDir(".", collect), filepath.WalkDir("../manifests", collect)); err != nil {
		t.Fatal(err)
	}
	return names
}

// TestDocsChecksSeeMistakes: the checks above find the mistakes that they are for.
func TestDocsChecksSeeMistakes(t *testing.T) {
	page := "# One `two/three`, [four](x.md)\n[a](y.md#z) `[no](code.md)` [far](https://example.com)\n" +
		"```\n[no](fence.md)\n# no heading\n```\n[b]: v.md\n"
	if got, want := links(page), []string{"x.md", "y.md#z", "v.md"}; !slices.Equal(got, want) {
		t.Errorf("links are %q, want %q", got, want)
	}
	if got, want := anchors(page), []string{"one-twothree-four"}; !slices.Equal(got, want) {
		t.Errorf("anchors are %q, want %q", got, want)
	}
	for text, want := range map[string]int{
		"The proxy denies it. There is no cache, `we` \"our\" use.": 0,
		"It is ours.":                   1,
		"What it is\nworth, for\never.": 2,
		"This is no error, we think.":   2,
	} {
		if got := privateWords(text); len(got) != want {
			t.Errorf("%q has %q, want %d", text, got, want)
		}
	}
}
