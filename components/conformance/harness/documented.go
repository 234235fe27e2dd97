// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Documented is the documentation of a known difference.
type Documented struct {
	Name string
	// IDs are the rules that Bulkhead names in this difference. If IDs is empty, it may name any
	// rule.
	IDs []rules.ID
	// Row is text that the item on the page contains.
	Row string
}

// CheckDocumented checks that docs/differences.md has an item for each known difference, in the
// section with this heading. The bold words of the item must name its rules. If heading is "", it
// checks the whole page.
func CheckDocumented(t *testing.T, heading string, differences []Documented) {
	t.Helper()
	CheckPage(t, "differences.md", heading, differences)
}

// CheckPage is CheckDocumented for another page of docs.
func CheckPage(t *testing.T, name, heading string, differences []Documented) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("../../../docs", name))
	if err != nil {
		t.Fatal(err)
	}
	section := string(page)
	if heading != "" {
		_, section, _ = strings.Cut(section, "\n## "+heading+"\n")
	}
	for _, d := range differences {
		t.Run(d.Name, func(t *testing.T) {
			named := namedIn(section, d.Row)
			if named == nil {
				t.Fatalf("docs/%s has no item with %q", name, d.Row)
			}
			for _, id := range d.IDs {
				if !slices.Contains(named, string(id)) {
					t.Errorf("the item with %q names %v, not %s", d.Row, named, id)
				}
			}
		})
	}
}

// namedIn returns the rules in the bold words of the items that contain the text, or nil if no item
// contains it. An item ends at the next item or at an empty line.
func namedIn(section, text string) (named []string) {
	for _, paragraph := range strings.Split(section, "\n\n") {
		for item := range strings.SplitSeq("\n"+paragraph, "\n- **") {
			item = strings.Join(strings.Fields(item), " ")
			if heading, _, bold := strings.Cut(item, "**"); bold && strings.Contains(item, text) {
				named = append(append([]string{}, named...), idsIn(heading)...)
			}
		}
	}
	return named
}

// idsIn returns the rules in a text: "NA-X-1, 2" and "NA-X-1 … 5" name several.
func idsIn(text string) []string {
	var ids []string
	stem, last := "", 0
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' })
	for i, word := range words {
		dash := strings.LastIndexByte(word, '-')
		switch {
		case dash >= 0:
			stem = word[:dash+1]
			ids = append(ids, word)
		case stem == "" || digit(word) == 0:
			continue
		case i > 0 && words[i-1] == "…":
			for n := last + 1; n < digit(word); n++ {
				ids = append(ids, stem+string(rune('0'+n)))
			}
			fallthrough
		default:
			ids = append(ids, stem+word)
		}
		last = digit(word[dash+1:])
	}
	return ids
}

// digit returns the number for a word of one digit, or 0.
func digit(word string) int {
	if len(word) != 1 || word[0] < '1' || word[0] > '9' {
		return 0
	}
	return int(word[0] - '0')
}
