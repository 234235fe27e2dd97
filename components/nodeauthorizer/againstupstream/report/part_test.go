// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"
)

// Two programs write one page, in any order, and neither loses what the other wrote.
func TestPartsOfAPage(t *testing.T) {
	page := Replace("# Performance\n", "b", "## B\nold\n")
	page = Replace(page, "a-b", "## A")
	page = Replace(page, "b", "## B\nnew\n")
	page = Keep(page, "# Performance\nagain\n")
	want := `# Performance
again

<!-- part: b -->
## B
new
<!-- end of part -->

<!-- part: a-b -->
## A
<!-- end of part -->
`
	if page != want {
		t.Errorf("got\n%s\nwant\n%s", page, want)
	}
}

func TestAPartHasItsOwnTable(t *testing.T) {
	d := &Document{Machine: "m", Command: "make bench", Versions: "v", Sections: []Section{{Title: "T", Text: "x", Rows: []Row{{What: "w", Bar: 1, Value: 2, Format: "%.0f"}}}}}
	for _, want := range []string{"## NodeRestriction\n", "\n### T\n", "| w | ≤ 1 | 2 |", "One bar is missed."} {
		if got := d.Part("NodeRestriction"); !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}
