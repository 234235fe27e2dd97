// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Documented is what every known difference has: a name, and where the page has it.
type Documented struct {
	Name string
	// IDs are the rules that Bulkhead names in it. Without any, every rule may be named.
	IDs []rules.ID
	// Row is text that the page's item contains.
	Row string
}

// CheckDocumented checks that docs/differences.md has an item for each known difference, in
// the section with that heading, and that the bold words of the item name its rules.
// Without a heading it looks at the whole page.
func CheckDocumented(t *testing.T, heading string, differences []Documented) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/differences.md")
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
				t.Fatalf("docs/differences.md has no item with %q", d.Row)
			}
			for _, id := range d.IDs {
				if !slices.Contains(named, string(id)) {
					t.Errorf("the item with %q names %v, not %s", d.Row, named, id)
				}
			}
		})
	}
}

// namedIn lists the rules in the bold words of the items that contain the text; nil if no
// item contains it. An item ends at the next one, and at a line that is empty.
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

// idsIn lists the rules that a text names: "NA-X-1, 2" and "NA-X-1 … 5" name several.
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

// digit is the number of a word of one digit, or 0.
func digit(word string) int {
	if len(word) != 1 || word[0] < '1' || word[0] > '9' {
		return 0
	}
	return int(word[0] - '0')
}
