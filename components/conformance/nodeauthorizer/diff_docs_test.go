// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package againstupstream

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestDifferencesAreDocumented holds that the page has a row for each known
// difference, and that the row's first cell names the rules of it.
func TestDifferencesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/differences.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range differences {
		t.Run(d.name, func(t *testing.T) {
			var named []string
			for line := range strings.Lines(string(page)) {
				if strings.HasPrefix(line, "|") && strings.Contains(line, d.documented) {
					named = append(named, idsIn(strings.Split(line, "|")[1])...)
				}
			}
			if len(d.ids) == 0 && !strings.Contains(string(page), "| "+d.documented+" |") {
				t.Errorf("no row is about %q", d.documented)
			}
			for _, id := range d.ids {
				if !slices.Contains(named, string(id)) {
					t.Errorf("the row that says %q names %v, not %s", d.documented, named, id)
				}
			}
		})
	}
}

// idsIn lists the rules that a cell names: "NA-X-1, 2" and "NA-X-1 … 5" name
// several.
func idsIn(cell string) []string {
	var ids []string
	stem, last := "", 0
	words := strings.FieldsFunc(cell, func(r rune) bool { return r == ' ' || r == ',' })
	for i, word := range words {
		dash := strings.LastIndexByte(word, '-')
		switch {
		case dash >= 0:
			stem = word[:dash+1]
			ids = append(ids, word)
		case stem == "" || number(word) == 0:
			continue
		case i > 0 && words[i-1] == "…":
			for n := last + 1; n < number(word); n++ {
				ids = append(ids, stem+string(rune('0'+n)))
			}
			fallthrough
		default:
			ids = append(ids, stem+word)
		}
		last = number(word[dash+1:])
	}
	return ids
}

// number is the number that a digit stands for, or 0.
func number(word string) int {
	if len(word) != 1 || word[0] < '1' || word[0] > '9' {
		return 0
	}
	return int(word[0] - '0')
}

func TestIDsIn(t *testing.T) {
	got := idsIn(" NA-CM-1, 2, NA-PASS-1 … 5, NA-DEFAULT ")
	want := []string{"NA-CM-1", "NA-CM-2", "NA-PASS-1", "NA-PASS-2", "NA-PASS-3", "NA-PASS-4", "NA-PASS-5", "NA-DEFAULT"}
	if !slices.Equal(got, want) {
		t.Errorf("idsIn = %v, want %v", got, want)
	}
}
