// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package components_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// specsNamed is a path of a suite, and the text up to the next path or the end of the list item.
	specsNamed = regexp.MustCompile("(?s)`e2e/(\\w+)/[\\w.]+_test\\.go`(.*?)(?:`e2e/|\n *- |\n\n|\n#|$)")
	inQuotes   = regexp.MustCompile(`"([^"]+)"`)
)

// TestCompatibilityNamesExistingSpecs: a spec is named by a part of its name, which is in the suite's source or in
// the list of its specs. seeds.md, with whole names, has a test of its own.
func TestCompatibilityNamesExistingSpecs(t *testing.T) {
	text := pages(t)["../docs/compatibility.md"]
	names := 0
	for at := specsNamed.FindStringSubmatchIndex(text); at != nil; at = specsNamed.FindStringSubmatchIndex(text) {
		suite, about := text[at[2]:at[3]], text[at[4]:at[5]]
		text = text[at[5]:]
		for _, quote := range inQuotes.FindAllStringSubmatch(about, -1) {
			names++
			if name := strings.Join(strings.Fields(quote[1]), " "); !strings.Contains(sources(t, suite), name) {
				t.Errorf("e2e/%s has no spec %q", suite, name)
			}
		}
	}
	if names == 0 {
		t.Error("the page names no spec")
	}
}

// sources returns the files of a suite, and the list of its specs that name a rule.
func sources(t *testing.T, suite string) string {
	t.Helper()
	files, err := filepath.Glob("../e2e/" + suite + "/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range append(files, "rulebook/specs/"+suite+".txt") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
