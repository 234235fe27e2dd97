// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package strictyaml

import (
	"fmt"
	"strings"
)

// suggestion names the field that the user may have meant, or lists all fields.
func suggestion(name string, names []string) string {
	// Two edits, such as two swapped letters, are likely a typing error. More are not.
	const maxEdits = 2
	best, edits := "", maxEdits+1
	// A long name cannot be close to a field.
	if len(name) <= 64 {
		for _, known := range names {
			if n := distance(strings.ToLower(name), strings.ToLower(known)); n < edits {
				best, edits = known, n
			}
		}
	}
	if best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return "; the fields are " + strings.Join(names, ", ")
}

// distance returns the Levenshtein distance of two texts, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
